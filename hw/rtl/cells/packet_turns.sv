// Puts the packets of several streams one behind the other, whole: each stream that waits has its turn, a packet at a time. A packet follows
// the one before without a bubble. A gap inside a packet holds up all streams.
// Every GroupW bits of a beat have their own copy of the choice, so that none drives more; all copies are always equal.
module packet_turns #(
    parameter int unsigned Streams = 4,
    parameter int unsigned DataW = 512,
    parameter int unsigned UserW = 1,
    parameter int unsigned GroupW = 128,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic [Streams-1:0][DataW-1:0] s_axis_tdata,
    input  logic [Streams-1:0][KeepW-1:0] s_axis_tkeep,
    input  logic [Streams-1:0]            s_axis_tlast,
    input  logic [Streams-1:0][UserW-1:0] s_axis_tuser,
    input  logic [Streams-1:0]            s_axis_tvalid,
    output logic [Streams-1:0]            s_axis_tready,

    output logic [  DataW-1:0] m_axis_tdata,
    output logic [  KeepW-1:0] m_axis_tkeep,
    output logic               m_axis_tlast,
    output logic [  UserW-1:0] m_axis_tuser,
    output logic [Streams-1:0] m_axis_tdest,   // one bit set: whose packet it is
    output logic               m_axis_tvalid,
    input  logic               m_axis_tready
);

  localparam int unsigned BEAT_W = UserW + 1 + KeepW + DataW;
  localparam int unsigned GROUPS = (BEAT_W + GroupW - 1) / GroupW;

  if (Streams < 2 || Streams > 16) begin : gen_check
    $error("%m: Streams = %0d must be 2 to 16", Streams);
  end
  if (GroupW < 2) begin : gen_check_group
    $error("%m: GroupW = %0d must be 2 or more", GroupW);
  end

  typedef logic [Streams-1:0] streams_t;

  // One bit set: the stream of the packet under way, or of the last one. Those behind it in a round come first.
  (* keep, dont_merge *)streams_t [GROUPS-1:0] last_q;
  (* keep, dont_merge *)streams_t [GROUPS-1:0] behind_q;
  streams_t [GROUPS-1:0] chosen;
  logic [Streams-1:0][BEAT_W-1:0] beats;
  logic [BEAT_W-1:0] beat;
  logic inside_q, valid, ready;

  for (genvar s = 0; s < Streams; s++) begin : gen_stream
    assign beats[s] = {s_axis_tuser[s], s_axis_tlast[s], s_axis_tkeep[s], s_axis_tdata[s]};
  end

  // The lowest of the bits that are set
  function automatic streams_t lowest(input streams_t waiting);
    return waiting & (~waiting + 1'b1);
  endfunction

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned AT = g * GroupW;
    localparam int unsigned WIDTH = AT + GroupW > BEAT_W ? BEAT_W - AT : GroupW;

    streams_t first, next;
    logic [WIDTH-1:0] group;

    assign first = lowest(s_axis_tvalid & behind_q[g]);
    assign next = first != '0 ? first : lowest(s_axis_tvalid);
    assign chosen[g] = inside_q ? last_q[g] & s_axis_tvalid : next;

    always_comb begin
      group = '0;
      for (int unsigned s = 0; s < Streams; s++) group |= beats[s][AT+:WIDTH] & {WIDTH{chosen[g][s]}};
    end
    assign beat[AT+:WIDTH] = group;

    always_ff @(posedge clk) begin
      if (ready && valid) begin
        last_q[g]   <= chosen[g];
        behind_q[g] <= ~(chosen[g] | (chosen[g] - 1'b1));
      end
      if (rst) begin
        last_q[g]   <= '0;
        behind_q[g] <= '0;
      end
    end
  end

  assign valid = chosen[0] != '0;
  assign s_axis_tready = chosen[0] & {Streams{ready}};

  always_ff @(posedge clk) begin
    if (ready && valid) inside_q <= (chosen[0] & s_axis_tlast) == '0;
    if (rst) inside_q <= 1'b0;
  end

  axis_reg #(
      .DataW (Streams + BEAT_W),
      .GroupW(GroupW * 3 / 4)  // the first group's control has the choice to drive, too
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({chosen[0], beat}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tdest, m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
