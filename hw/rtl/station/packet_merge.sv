// Puts control packets between the packets of a data stream. Both stay whole; one that is on offer loses no cycle to a gap in the
// other. A control packet goes first, but not two in a row while data wait. A hold stops packets from beginning.
// Every GroupW bits of a beat have their own copy of the choice, so that none drives more; all copies are always equal.
module packet_merge #(
    parameter int unsigned DataW = 512,
    parameter int unsigned UserW = 1,
    parameter int unsigned ControlBytes = 1536,  // of a control packet, at most: longer ones may keep data waiting
    parameter int unsigned GroupW = 128,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic hold_data_i,
    input logic hold_control_i,

    // Packets without gaps inside
    input  logic [DataW-1:0] s_axis_data_tdata,
    input  logic [KeepW-1:0] s_axis_data_tkeep,
    input  logic             s_axis_data_tlast,
    input  logic [UserW-1:0] s_axis_data_tuser,
    input  logic             s_axis_data_tvalid,
    output logic             s_axis_data_tready,

    // Packets with or without gaps: each is collected first
    input  logic [DataW-1:0] s_axis_control_tdata,
    input  logic [KeepW-1:0] s_axis_control_tkeep,
    input  logic             s_axis_control_tlast,
    input  logic [UserW-1:0] s_axis_control_tuser,
    input  logic             s_axis_control_tvalid,
    output logic             s_axis_control_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic [UserW-1:0] m_axis_tuser,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic idle_o  // nothing is inside, and no packet under way
);

  localparam int unsigned BEATS = (ControlBytes + KeepW - 1) / KeepW;
  localparam int unsigned BEAT_W = UserW + 1 + KeepW + DataW;
  localparam int unsigned GROUPS = (BEAT_W + GroupW - 1) / GroupW;

  logic [DataW-1:0] whole_tdata;
  logic [KeepW-1:0] whole_tkeep;
  logic [UserW-1:0] whole_tuser;
  logic whole_tlast, whole_tvalid, whole_tready, empty;

  axis_whole #(
      .DataW(DataW),
      .UserW(UserW),
      .Depth(BEATS > 2 ? 1 << $clog2(BEATS) : 2)
  ) u_control (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_control_tdata),
      .s_axis_tkeep (s_axis_control_tkeep),
      .s_axis_tlast (s_axis_control_tlast),
      .s_axis_tuser (s_axis_control_tuser),
      .s_axis_tvalid(s_axis_control_tvalid),
      .s_axis_tready(s_axis_control_tready),
      .m_axis_tdata (whole_tdata),
      .m_axis_tkeep (whole_tkeep),
      .m_axis_tlast (whole_tlast),
      .m_axis_tuser (whole_tuser),
      .m_axis_tvalid(whole_tvalid),
      .m_axis_tready(whole_tready),
      .empty_o      (empty)
  );

  // inside: a packet has begun, and not ended; it and the last one before are of the control stream.
  (* keep, dont_merge *)logic [GROUPS-1:0] was_control_q;
  logic [GROUPS-1:0] from_control;
  logic inside_q, valid, last, ready, data_waits, control_waits;
  logic [BEAT_W-1:0] control_beat, data_beat, beat;

  assign data_waits = s_axis_data_tvalid && !hold_data_i;
  assign control_waits = whole_tvalid && !hold_control_i;

  always_comb begin
    if (inside_q) begin
      from_control = was_control_q;
      valid = was_control_q[0] ? whole_tvalid : s_axis_data_tvalid;
    end else begin
      from_control = {GROUPS{control_waits}} & ~({GROUPS{data_waits}} & was_control_q);
      valid = control_waits || data_waits;
    end
  end

  assign last = from_control[0] ? whole_tlast : s_axis_data_tlast;
  assign whole_tready = ready && valid && from_control[0];
  assign s_axis_data_tready = ready && valid && !from_control[0];

  assign control_beat = {whole_tuser, whole_tlast, whole_tkeep, whole_tdata};
  assign data_beat = {s_axis_data_tuser, s_axis_data_tlast, s_axis_data_tkeep, s_axis_data_tdata};

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > BEAT_W ? BEAT_W - AT : GroupW;

    assign beat[AT+:WIDTH] = from_control[g] ? control_beat[AT+:WIDTH] : data_beat[AT+:WIDTH];
  end

  always_ff @(posedge clk) begin
    if (ready && valid) begin
      inside_q <= !last;
      was_control_q <= from_control;
    end
    if (rst) begin
      inside_q <= 1'b0;
      was_control_q <= '0;
    end
  end

  axis_reg #(
      .DataW(BEAT_W)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata (beat),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  assign idle_o = empty && !inside_q && !m_axis_tvalid;

endmodule
