// axis_behead is a queue of the bytes that it leaves, which are given on by the beat: a whole one, or the last of its packet.
module axis_behead_formal #(
    parameter int unsigned DataW = 512,
    parameter int unsigned Bytes = 48,
    parameter int unsigned More  = 0,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned Skip   = (Bytes - 1) / KeepW,
    localparam int unsigned Inside = 3 * KeepW,  // most bytes, those on offer among them
    localparam int unsigned BeatW  = $clog2(Skip + 2),
    localparam int unsigned CountW = $clog2(Inside + KeepW + 1),
    localparam type beat_t = logic [BeatW-1:0],
    localparam type count_t = logic [CountW-1:0]
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,
    input logic             s_axis_tvalid,
    input logic             more_i,

    input logic [DataW-1:0] m_axis_tdata,
    input logic [KeepW-1:0] m_axis_tkeep,
    input logic             m_axis_tlast,
    input logic             m_axis_tuser,
    input logic             m_axis_tvalid,

    input logic [DataW-1:0] data1_q,
    input logic [DataW-1:0] data2_q,
    input logic [KeepW-1:0] keep1_q,
    input logic [KeepW-1:0] keep2_q,
    input logic             valid1_q,
    input logic             last1_q,
    input logic             user1_q,
    input logic             user2_q,
    input logic             more1_q,
    input logic             more2_q,
    input logic             flush_q,
    input beat_t            beat_q,
    input logic             in_step   // copies of the control
);

  localparam beat_t Behind = beat_t'(Skip + 1);  // a beat of which nothing is taken off

  // Bytes of a beat from lane 0 on, and how many are taken off
  function automatic count_t bytes(input logic [KeepW-1:0] keep);
    bytes = '0;
    for (int unsigned k = 0; k < KeepW; k++) bytes += count_t'(keep[k]);
  endfunction

  function automatic count_t off(input beat_t beat, input logic more);
    if (beat == Behind) return '0;
    if (beat != beat_t'(Skip)) return count_t'(KeepW);
    return count_t'((Bytes - 1) % KeepW + 1 + (more ? More : 0));
  endfunction

  function automatic count_t rest(input logic [KeepW-1:0] keep, input count_t taken_off);
    return bytes(keep) > taken_off ? bytes(keep) - taken_off : '0;
  endfunction

  function automatic logic is_beat(input logic [KeepW-1:0] keep, input logic last);
    return (keep & (keep + 1'b1)) == '0 && keep[0] && (last || keep == '1);
  endfunction

  // What comes in
  beat_t in_q;
  logic more_q;
  count_t in_off, in_bytes;

  assign in_off   = off(in_q, more_i);
  assign in_bytes = s_axis_tvalid ? rest(s_axis_tkeep, in_off) : '0;

  always_ff @(posedge clk) begin
    if (s_axis_tvalid) begin
      more_q <= more_i;
      in_q   <= s_axis_tlast ? '0 : in_q == Behind ? Behind : in_q + 1'b1;
    end
    if (rst) in_q <= '0;
  end

  always_comb begin
    if (s_axis_tvalid) assume (is_beat(s_axis_tkeep, s_axis_tlast));
    if (s_axis_tvalid && in_q == Behind) assume (more_i == more_q);
    if (More == 0) assume (!more_i);
  end

  reset_rule u_reset (.*);

  // What is inside, oldest first: on offer, of the beat before, of the last beat
  count_t offered, earlier, last_beat;
  logic [Inside-1:0][7:0] held;
  logic [Inside-1:0] lasts;
  count_t count;

  assign offered   = m_axis_tvalid ? bytes(m_axis_tkeep) : '0;
  assign last_beat = valid1_q ? rest(keep1_q, off(beat_q, more1_q)) : '0;
  assign earlier    = flush_q || beat_q == Behind ? rest(keep2_q, off(beat_t'(Skip), more2_q)) : '0;

  always_comb begin
    held  = '0;
    lasts = '0;
    for (int unsigned k = 0; k < Inside; k++) begin
      for (int unsigned j = 0; j < KeepW; j++) begin
        if (count_t'(k) == count_t'(j) && count_t'(k) < offered) held[k] = m_axis_tdata[8*j+:8];
        if (count_t'(k) + off(beat_t'(Skip), more2_q) == offered + count_t'(j) && count_t'(k) >= offered &&
            count_t'(k) < offered + earlier)
          held[k] = data2_q[8*j+:8];
        if (count_t'(k) + off(beat_q, more1_q) == offered + earlier + count_t'(j) && count_t'(k) >= offered + earlier)
          held[k] = data1_q[8*j+:8];
      end
      lasts[k] = (m_axis_tvalid && m_axis_tlast && count_t'(k) + 1'b1 == offered) ||
          (flush_q && count_t'(k) + 1'b1 == offered + earlier) ||
          (valid1_q && last1_q && last_beat != '0 && count_t'(k) + 1'b1 == offered + earlier + last_beat);
    end
  end

  bytes_rule #(
      .Push (KeepW),
      .Pop  (KeepW),
      .Depth(Inside)
  ) u_bytes (
      .clk,
      .rst,
      .push_data_i (s_axis_tdata >> {in_off, 3'b000}),
      .push_bytes_i(in_bytes),
      .push_last_i (s_axis_tlast),
      .pop_data_i  (m_axis_tdata),
      .pop_bytes_i (offered),
      .pop_last_i  (m_axis_tlast),
      .count_o     (count),
      .held_i      (offered + earlier + last_beat),
      .bytes_i     (held),
      .lasts_i     (lasts)
  );

  // tuser, in the order of the packets that leave something
  logic [2:0] users_q;  // of those that have not left, the newest first
  logic [1:0] packets_q;
  logic comes, leaves, came1_q, came2_q;  // one and two cycles ago

  assign comes  = in_bytes != '0 && s_axis_tlast;
  assign leaves = m_axis_tvalid && m_axis_tlast;

  always_ff @(posedge clk) begin
    if (comes) users_q <= {users_q[1:0], s_axis_tuser};
    packets_q <= packets_q + 2'(comes) - 2'(leaves);
    came1_q <= comes;
    came2_q <= came1_q;
    if (rst) begin
      packets_q <= '0;
      came1_q   <= 1'b0;
      came2_q   <= 1'b0;
    end
  end

  logic held_last;  // the last beat in stage 1 ends a packet that leaves something
  logic [1:0] first_held;
  assign held_last  = valid1_q && last1_q && last_beat != '0;
  assign first_held = 2'(held_last) + 2'(flush_q);

  always_comb begin
    if (!rst) begin
      if (m_axis_tvalid) a_beat : assert (is_beat(m_axis_tkeep, m_axis_tlast));
      if (leaves) a_user : assert (packets_q != '0 && m_axis_tuser == users_q[packets_q-1'b1]);
      a_leaves : assert (count - offered < count_t'(2 * KeepW));
      a_soon : assert (packets_q - 2'(leaves) <= 2'(came1_q) + 2'(came2_q));
      i_in_step : assert (in_step);
      i_packets : assert (packets_q == 2'(leaves) + first_held);
      i_came : assert (held_last == came1_q && (came2_q || !flush_q));
      if (held_last) i_user1 : assert (user1_q == users_q[0]);
      if (flush_q) i_user2 : assert (user2_q == users_q[2'(held_last)]);
      if (valid1_q) i_beat1 : assert (is_beat(keep1_q, last1_q));
      if (beat_q == Behind) i_full : assert (keep2_q == '1 && !flush_q);
      if (flush_q) i_flush : assert (is_beat(keep2_q, 1'b1) && earlier != '0);
      if (More == 0) i_none : assert (!more1_q && !more2_q);
      if (valid1_q && beat_q == Behind) i_same1 : assert (more1_q == more2_q);
      if (in_q == Behind) i_same : assert (more_q == (valid1_q ? more1_q : more2_q));
      i_input : assert (in_q == (!valid1_q ? beat_q : last1_q ? '0 : beat_q == Behind ? Behind : beat_q + 1'b1));
    end
  end

endmodule

bind axis_behead axis_behead_formal #(
    .DataW(DataW),
    .Bytes(Bytes),
    .More (More)
) u_formal (
    .valid1_q(valids1_q[0]),
    .more2_q(mores2_q[0]),
    .in_step(valids1_q == {GROUPS{valids1_q[0]}} && mores2_q == {GROUPS{mores2_q[0]}}),
    .*
);
