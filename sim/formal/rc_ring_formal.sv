// rc_ring: of one QP, any, the descriptors in one place of its ring, any, are followed. Each is asked for with the same PSN every
// time, the one behind it with the next, and ends once, in its turn: as acknowledged when all of its packets are, else failed.
module rc_ring_formal
  import rc_pkg::*;
#(
    parameter int unsigned RcQps = 2,
    parameter int unsigned Depth = 4,

    localparam int unsigned IndexW = $clog2(RcQps),
    localparam int unsigned PlaceW = $clog2(Depth)
) (
    input logic clk,
    input logic rst,

    input rc_entry_t s_axis_entry_tdata,
    input logic      s_axis_entry_tvalid,
    input logic      s_axis_entry_tready,

    input logic              ask_o,
    input logic       [ 7:0] ask_qp_o,
    input logic       [23:0] ask_psn_o,
    input logic       [15:0] ask_packets_o,
    input rc_answer_e        answer_i,
    input logic       [ 7:0] qp_i,
    input logic              back_i,
    input logic              arm_i,
    input logic       [23:0] arm_psn_i,
    input logic       [23:0] look_una_i,
    input logic [RcQps-1:0]  failing_i,

    input rc_issue_t   m_axis_issue_tdata,
    input logic        m_axis_issue_tvalid,
    input logic        m_axis_issue_tready,
    input rc_retired_t m_axis_retired_tdata,
    input logic        m_axis_retired_tvalid,
    input logic        m_axis_retired_tready,

    input logic [RcQps-1:0][PlaceW:0] head_q,
    input logic [RcQps-1:0][PlaceW:0] next_q,
    input logic [RcQps-1:0][PlaceW:0] tail_q,
    input logic [RcQps-1:0] armed_q,
    input logic [$bits(framelane_pkg::bd_t)+24-1:0] kept[RcQps*Depth],
    input logic [32:0] ends[RcQps*Depth],
    input logic [23:0] head_psns[RcQps],
    input logic [23:0] next_psns[RcQps],
    input logic retired,
    input logic acked,
    input logic asks_q,
    input logic looks_q,
    input logic [IndexW-1:0] send_q,
    input logic [IndexW-1:0] end_q,
    input logic [$bits(framelane_pkg::bd_t)+24-1:0] send_q_kept,
    input logic [32:0] end_q_kept
);

  typedef logic [PlaceW:0] pointer_t;

  // As in the block
  typedef struct packed {
    logic [15:0] packets;
    logic        last;
    logic [7:0]  destination_index;
    logic [7:0]  tag;
  } end_t;

  function automatic logic [15:0] packets_of(input logic [$bits(framelane_pkg::bd_t)+24-1:0] word);
    return word[$bits(framelane_pkg::bd_t)+:16];
  endfunction

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW($bits(rc_issue_t))
  ) u_hold_issue (
      .clk,
      .rst,
      .tdata_i (m_axis_issue_tdata),
      .tvalid_i(m_axis_issue_tvalid),
      .tready_i(m_axis_issue_tready)
  );

  hold_rule #(
      .DataW($bits(rc_retired_t))
  ) u_hold_retired (
      .clk,
      .rst,
      .tdata_i (m_axis_retired_tdata),
      .tvalid_i(m_axis_retired_tvalid),
      .tready_i(m_axis_retired_tready)
  );

  logic [IndexW-1:0] any_index;
  pointer_t any_place, head, sent, count, place;
  logic failing, failing_q, arms, arms_q, accepts, asked, asked_behind, ends_now;
  logic alive_q, known_q;
  logic [23:0] psn_q;
  end_t entry, entry_q;

  assign head = head_q[any_index];
  assign sent = next_q[any_index] - head;
  assign count = tail_q[any_index] - head;
  assign place = any_place - head;
  assign failing = failing_i[any_index];
  assign arms = arm_i && qp_i == 8'(any_index);
  assign accepts = s_axis_entry_tvalid && s_axis_entry_tready && s_axis_entry_tdata.bd.qp == 8'(any_index) &&
      tail_q[any_index] == any_place;
  assign asked = ask_o && ask_qp_o == 8'(any_index) && next_q[any_index] == any_place;
  assign asked_behind = ask_o && ask_qp_o == 8'(any_index) && next_q[any_index] == pointer_t'(any_place + 1'b1);
  assign ends_now = retired && end_q == any_index && head == any_place;
  assign entry = '{
          packets: s_axis_entry_tdata.packets,
          last: s_axis_entry_tdata.bd.last,
          destination_index: s_axis_entry_tdata.bd.destination_index,
          tag: s_axis_entry_tdata.tag
      };

  always_comb begin
    assume (9'(qp_i) < 9'(RcQps) && 9'(s_axis_entry_tdata.bd.qp) < 9'(RcQps));
    assume (!(ask_o && (back_i || arm_i)) && !(arm_i && back_i));
    // A QP is in error until it is armed; it is armed only then, with an empty ring.
    assume (armed_q[any_index] || failing);
    assume (!failing_q || failing || arms_q);
    assume (!arms || (failing && count == '0));
  end

  always_ff @(posedge clk) begin
    any_index <= any_index;
    any_place <= any_place;
    failing_q <= failing && !rst;
    arms_q <= arms;
    if (accepts) begin
      alive_q <= 1'b1;
      known_q <= 1'b0;
      entry_q <= entry;
    end
    if (asked && !failing) begin
      known_q <= 1'b1;
      psn_q   <= ask_psn_o;
    end
    if (ends_now) alive_q <= 1'b0;
    if (rst) begin
      alive_q <= 1'b0;
      known_q <= 1'b0;
    end
  end

  // The PSN of every descriptor, by the sum of packets as they are accepted: what the ring must find again.
  logic [Depth-1:0][23:0] psns;
  logic [23:0] tail_psn_q, tail_psn;
  logic twice, chained;
  logic accepts_any;

  assign accepts_any = s_axis_entry_tvalid && s_axis_entry_tready && s_axis_entry_tdata.bd.qp == 8'(any_index);
  assign tail_psn = arms ? arm_psn_i : tail_psn_q;

  always_ff @(posedge clk) begin
    tail_psn_q <= tail_psn;
    if (accepts_any) begin
      psns[PlaceW'(tail_q[any_index])] <= tail_psn;
      tail_psn_q <= tail_psn + 24'(s_axis_entry_tdata.packets);
    end
  end

  always_comb begin
    twice   = 1'b1;  // both memories agree
    chained = 1'b1;
    for (int unsigned k = 0; k < Depth; k++) begin
      if (pointer_t'(k) < count) begin
        twice &= packets_of(kept[{any_index, PlaceW'(head + pointer_t'(k))}]) ==
            ends[{any_index, PlaceW'(head + pointer_t'(k))}][32:17];
        chained &= (pointer_t'(k + 1) < count ? psns[PlaceW'(head + pointer_t'(k + 1))] : tail_psn_q) ==
            psns[PlaceW'(head + pointer_t'(k))] + 24'(ends[{any_index, PlaceW'(head + pointer_t'(k))}][32:17]);
      end
    end
  end

  always_comb begin
    if (!rst) begin
      if (asked) begin
        a_there : assert (alive_q && ask_packets_o == entry_q.packets);
        a_same : assert (failing || !known_q || ask_psn_o == psn_q);
      end
      if (asked_behind && alive_q && !failing) begin
        a_next : assert (known_q && ask_psn_o == psn_q + 24'(entry_q.packets));
      end
      if (ends_now) begin
        a_turn : assert (alive_q && end_q_kept == entry_q);
        a_sent : assert (sent != '0);
        a_acked : assert (!acked || failing || (known_q && look_una_i - psn_q >= 24'(entry_q.packets)));
        a_failed : assert (acked || failing);
      end
      a_count : assert (count <= pointer_t'(Depth) && sent <= count);

      i_free : assert (!(asks_q && m_axis_issue_tvalid) && !(looks_q && m_axis_retired_tvalid));
      i_alive : assert (alive_q == (place < count));
      if (alive_q) i_kept : assert (ends[{any_index, any_place[PlaceW-1:0]}] == entry_q);
      i_twice : assert (twice);
      i_chained : assert (failing || chained);
      i_head : assert (failing || head_psns[any_index] == (count == '0 ? tail_psn_q : psns[PlaceW'(head)]));
      i_next :
      assert (failing || next_psns[any_index] == (sent == count ? tail_psn_q : psns[PlaceW'(head + sent)]));
      i_psn : assert (failing || !alive_q || !known_q || psn_q == psns[PlaceW'(any_place)]);
      if (!failing && alive_q && place < sent) i_known : assert (known_q);
      if (asks_q && send_q == any_index) begin
        i_asks :
        assert (sent < count && packets_of(send_q_kept) == ends[{any_index, PlaceW'(head + sent)}][32:17]);
      end
      if (looks_q && end_q == any_index) begin
        i_looks : assert (count != '0 && end_q_kept == ends[{any_index, head[PlaceW-1:0]}]);
      end
    end
  end

endmodule

bind rc_ring rc_ring_formal #(
    .RcQps(RcQps),
    .Depth(Depth)
) u_formal (.*);
