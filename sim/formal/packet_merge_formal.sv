// packet_merge takes whole packets of its two streams, and is a queue of their beats. Its control packets come out of axis_whole.
module packet_merge_formal #(
    parameter int unsigned DataW = 512,
    parameter int unsigned UserW = 1,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = UserW + 1 + KeepW + DataW
) (
    input logic clk,
    input logic rst,

    input logic hold_data_i,
    input logic hold_control_i,

    input logic [DataW-1:0] s_axis_data_tdata,
    input logic [KeepW-1:0] s_axis_data_tkeep,
    input logic             s_axis_data_tlast,
    input logic [UserW-1:0] s_axis_data_tuser,
    input logic             s_axis_data_tvalid,
    input logic             s_axis_data_tready,

    input logic [DataW-1:0] whole_tdata,
    input logic [KeepW-1:0] whole_tkeep,
    input logic             whole_tlast,
    input logic [UserW-1:0] whole_tuser,
    input logic             whole_tvalid,
    input logic             whole_tready,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic [UserW-1:0] m_axis_tuser,
    input logic             m_axis_tvalid,
    input logic             m_axis_tready,

    input logic inside_q,
    input logic was_control_q,

    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             in_step  // the copies of the choice are equal
);

  logic data_taken, control_taken, last;
  logic under_way_q, control_q;  // a packet; the last one that has begun is of the control stream
  logic [1:0] count;

  assign data_taken = s_axis_data_tvalid && s_axis_data_tready;
  assign control_taken = whole_tvalid && whole_tready;
  assign last = control_taken ? whole_tlast : s_axis_data_tlast;

  always_ff @(posedge clk) begin
    if (data_taken || control_taken) begin
      under_way_q <= !last;
      if (!under_way_q) control_q <= control_taken;
    end
    if (rst) begin
      under_way_q <= 1'b0;
      control_q   <= 1'b0;
    end
  end

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  queue_rule #(
      .DataW(BeatW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(control_taken ? {whole_tuser, whole_tlast, whole_tkeep, whole_tdata} :
          {s_axis_data_tuser, s_axis_data_tlast, s_axis_data_tkeep, s_axis_data_tdata}),
      .push_i     (data_taken || control_taken),
      .pop_data_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  logic data_waits, control_waits;
  assign data_waits = s_axis_data_tvalid && !hold_data_i;
  assign control_waits = whole_tvalid && !hold_control_i;

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != 2'd0));
      a_one : assert (!data_taken || !control_taken);
      if (under_way_q) a_whole : assert (control_q ? !data_taken : !control_taken);
      if (under_way_q && !control_q && s_axis_data_tvalid) a_goes_on : assert (s_axis_data_tready == (count != 2'd2));
      if (!under_way_q) begin
        a_hold_data : assert (!data_taken || !hold_data_i);
        a_hold_control : assert (!control_taken || !hold_control_i);
        if (data_waits && !control_waits) a_no_cycle_lost : assert (s_axis_data_tready == (count != 2'd2));
        if (control_waits && !data_waits) a_control : assert (whole_tready == (count != 2'd2));
        if (control_waits && data_waits && count != 2'd2) a_in_turn : assert (control_q ? data_taken : control_taken);
      end
      i_step : assert (in_step);
      i_inside : assert (inside_q == under_way_q && was_control_q == control_q);
    end
  end

endmodule

bind packet_merge packet_merge_formal #(
    .DataW(DataW),
    .UserW(UserW)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .was_control_q(was_control_q[0]),
    .in_step(was_control_q == {GROUPS{was_control_q[0]}}),
    .*
);
