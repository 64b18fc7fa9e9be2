// packet_turns takes whole packets of its streams, one stream after the other, and is a queue of their beats.
module packet_turns_formal #(
    parameter int unsigned Streams = 3,
    parameter int unsigned DataW = 8,
    parameter int unsigned UserW = 1,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned BeatW = Streams + UserW + 1 + KeepW + DataW
) (
    input logic clk,
    input logic rst,

    input logic [Streams-1:0][DataW-1:0] s_axis_tdata,
    input logic [Streams-1:0][KeepW-1:0] s_axis_tkeep,
    input logic [Streams-1:0]            s_axis_tlast,
    input logic [Streams-1:0][UserW-1:0] s_axis_tuser,
    input logic [Streams-1:0]            s_axis_tvalid,
    input logic [Streams-1:0]            s_axis_tready,

    input logic [  DataW-1:0] m_axis_tdata,
    input logic [  KeepW-1:0] m_axis_tkeep,
    input logic               m_axis_tlast,
    input logic [  UserW-1:0] m_axis_tuser,
    input logic [Streams-1:0] m_axis_tdest,
    input logic               m_axis_tvalid,
    input logic               m_axis_tready,

    input logic               inside_q,
    input logic [Streams-1:0] last_q,
    input logic [Streams-1:0] behind_q,

    input logic [BeatW-1:0] data_q,
    input logic [BeatW-1:0] skid_q,
    input logic             valid_q,
    input logic             skid_valid_q,
    input logic             in_step  // the copies of the choice are equal
);

  localparam int unsigned WHOSE_W = $clog2(Streams);

  logic [Streams-1:0] taken;
  logic [BeatW-1:0] pushed;
  logic under_way_q, any_q;  // a packet; there was one since the reset
  logic [WHOSE_W-1:0] whose_q;  // the stream of the last that has begun
  logic [1:0] count;

  assign taken = s_axis_tvalid & s_axis_tready;

  always_comb begin
    pushed = '0;
    for (int unsigned s = 0; s < Streams; s++) begin
      if (taken[s]) pushed = {taken, s_axis_tuser[s], s_axis_tlast[s], s_axis_tkeep[s], s_axis_tdata[s]};
    end
  end

  always_ff @(posedge clk) begin
    for (int unsigned s = 0; s < Streams; s++) begin
      if (taken[s]) begin
        under_way_q <= !s_axis_tlast[s];
        any_q <= 1'b1;
        whose_q <= WHOSE_W'(s);
      end
    end
    if (rst) begin
      under_way_q <= 1'b0;
      any_q <= 1'b0;
      whose_q <= '0;
    end
  end

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tdest, m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  queue_rule #(
      .DataW(BeatW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(pushed),
      .push_i     (taken != '0),
      .pop_data_i ({m_axis_tdest, m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({skid_q, data_q})
  );

  // Whose turn it is: the first that waits behind the last one, round and round.
  logic [Streams-1:0] turn;

  always_comb begin
    turn = '0;
    for (int unsigned k = Streams; k > 0; k--) begin
      for (int unsigned s = 0; s < Streams; s++) begin
        if (32'(s) == (any_q ? (32'(whose_q) + k) % Streams : (k - 1) % Streams) && s_axis_tvalid[s]) begin
          turn = '0;
          turn[s] = 1'b1;
        end
      end
    end
  end

  always_comb begin
    if (!rst) begin
      a_offers : assert (m_axis_tvalid == (count != 2'd0));
      if (under_way_q) begin
        a_whole : assert ((taken & ~(Streams'(1) << whose_q)) == '0);
        a_goes_on : assert (taken[whose_q] == (s_axis_tvalid[whose_q] && count != 2'd2));
      end else begin
        a_turn : assert (taken == (count != 2'd2 ? turn : '0));
      end
      i_step : assert (in_step);
      i_inside : assert (inside_q == under_way_q && (!under_way_q || any_q));
      i_last : assert (last_q == (any_q ? Streams'(1) << whose_q : '0));
      i_behind : assert (behind_q == (any_q ? ~((Streams'(2) << whose_q) - 1'b1) : '0));
      i_whose : assert (32'(whose_q) < Streams);
    end
  end

endmodule

bind packet_turns packet_turns_formal #(
    .Streams(Streams),
    .DataW(DataW),
    .UserW(UserW)
) u_formal (
    .data_q(u_reg.data_q),
    .skid_q(u_reg.skid_q),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .last_q(last_q[0]),
    .behind_q(behind_q[0]),
    .in_step(last_q == {GROUPS{last_q[0]}} && behind_q == {GROUPS{behind_q[0]}} &&
             (u_reg.valids_q == '0 || u_reg.valids_q == '1) &&
             (u_reg.skid_valids_q == '0 || u_reg.skid_valids_q == '1)),
    .*
);
