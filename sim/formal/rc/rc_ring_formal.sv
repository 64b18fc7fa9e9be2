// rc_ring: of one QP every descriptor is followed by its place in the ring. It is asked for with the PSN that the packets before
// it leave to it, whenever it is sent, and ends once, in its turn: as acknowledged when all of its packets are, else failed.
// What is assumed of the answers is what rc_protocol is shown to give. What is assumed there of the questions is shown here.
module rc_ring_formal
  import rc_pkg::*;
#(
    parameter int unsigned RcQps = 2,
    parameter int unsigned Depth = 4,

    localparam int unsigned IndexW   = $clog2(RcQps),
    localparam int unsigned PlaceW   = $clog2(Depth),
    localparam int unsigned TrailerW = $bits(framelane_pkg::trailer_t),
    localparam int unsigned KeptW    = $bits(rc_entry_t) - TrailerW,
    localparam int unsigned Groups   = ($bits(rc_issue_t) + 127) / 128
) (
    input logic clk,
    input logic rst,

    input rc_entry_t s_axis_entry_tdata,
    input logic      s_axis_entry_tvalid,
    input logic      s_axis_entry_tready,

    input logic              ask_o,
    input logic              ask_ready_i,
    input logic       [ 7:0] ask_qp_o,
    input logic       [15:0] ask_packets_o,
    input rc_answer_e        answer_i,
    input logic       [23:0] answer_psn_i,
    input logic       [15:0] answer_skip_i,

    input logic       [      7:0] qp_i,
    input logic                   wake_i,
    input logic                   back_i,
    input logic                   arm_i,
    input logic [7:0] look_qp_o,
    input logic       [     23:0] arm_psn_i,
    input logic       [     23:0] look_una_i,
    input logic       [RcQps-1:0] failing_i,

    input rc_issue_t   m_axis_issue_tdata,
    input logic        m_axis_issue_tvalid,
    input logic        m_axis_issue_tready,
    input rc_retired_t m_axis_retired_tdata,
    input logic        m_axis_retired_tvalid,
    input logic        m_axis_retired_tready,

    input logic [2:0] rst_q,
    input logic [RcQps-1:0][PlaceW:0] head_q,
    input logic [RcQps-1:0][PlaceW:0] next_q,
    input logic [RcQps-1:0][PlaceW:0] tail_q,
    input logic [RcQps-1:0] armed_q,
    input logic [RcQps-1:0] blocked_q,
    input logic [RcQps-1:0] looked_q,
    input logic [KeptW-1:0] kept[RcQps*Depth],
    input logic [TrailerW-1:0] trailers[RcQps*Depth],
    input logic [24+TAG_W:0] ends[RcQps*Depth],
    input logic [23:0] head_psns[RcQps],
    input logic [23:0] next_psns[RcQps],
    input logic retired,
    input logic acked,
    input logic asks_q,
    input logic [Groups-1:0] loads_q,
    input logic looks_q,
    input logic late_q,
    input logic [IndexW-1:0] send_q,
    input logic [IndexW-1:0] end_q,
    input logic [KeptW-1:0] send_q_kept,
    input logic [TrailerW-1:0] send_q_trailer,
    input logic [PlaceW:0] send_after_q,
    input logic [23:0] send_psn_q,
    input logic [23:0] end_psn_q,
    input logic [23:0] end_una_q,
    input logic [23:0] done_q,
    input logic [24+TAG_W:0] end_q_kept
);

  localparam logic [23:0] WINDOW_MAX = 24'hffff;

  typedef logic [PlaceW:0] pointer_t;
  typedef logic [PlaceW-1:0] place_t;

  // As in the block
  typedef struct packed {
    tag_t               tag;
    logic [15:0]        packets;
    framelane_pkg::bd_t bd;
  } kept_t;

  typedef struct packed {
    logic [15:0] packets;
    logic        last;
    logic [7:0]  destination_index;
    tag_t        tag;
  } end_t;

  reset_rule u_reset (.*);

  // A reset lasts two cycles: pointers are reset a cycle later than all else.
  logic rst_was_q, rst_began_q;

  initial rst_was_q = 1'b0;

  always_ff @(posedge clk) begin
    rst_was_q   <= rst;
    rst_began_q <= rst && !rst_was_q;
  end

  always_comb begin
    assume (!rst_was_q || !rst_began_q || rst);
    if (rst_was_q || !rst) i_reset : assert (rst_q == {3{rst_was_q}});
    if (rst_was_q && !rst_began_q) i_zero : assert ({head_q, next_q, tail_q} == '0);
    if (rst_was_q && !rst) a_deaf : assert (!s_axis_entry_tready);
  end

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

  // Constants, the solver's choice: a QP, a place of its ring, a bit of the descriptor there.
  logic [IndexW-1:0] any_index;
  place_t any_place;
  logic [$clog2($bits(rc_entry_t))-1:0] any_bit;

  // The QP as it is, and what happens to it.
  pointer_t head, next, tail, count, upto_next, upto_fresh, age;
  logic failing, ours, wakes, backs, arms, accepts, asks, moves, fresh, sends, skips, ends_now, alive;
  logic [23:0] behind;

  // What an outsider sees: the first message that was not sent yet and its PSN, the first PSN not acknowledged, the PSN of each
  // message by the packets before it.
  pointer_t fresh_q;
  logic [23:0] nxt_q, una_q, tail_psn, tail_psn_q;
  logic [Depth-1:0][23:0] psns_q;
  logic failing_q, arms_q, wakes_q, skips_fresh_q, broken_q, waits_q;
  end_t entry, entry_q;
  logic bit_q;

  assign head = head_q[any_index];
  assign next = next_q[any_index];
  assign tail = tail_q[any_index];
  assign count = tail - head;
  assign upto_next = next - head;
  assign upto_fresh = fresh_q - head;
  assign age = pointer_t'(place_t'(any_place - head[PlaceW-1:0]));
  assign alive = age < count;

  assign failing = failing_i[any_index];
  assign ours = qp_i == 8'(any_index);
  assign wakes = wake_i && ours;
  assign backs = back_i && ours;
  assign arms = arm_i && ours;
  assign accepts = s_axis_entry_tvalid && s_axis_entry_tready && s_axis_entry_tdata.bd.qp == 8'(any_index);
  assign asks = asks_q && send_q == any_index;
  assign fresh = next == fresh_q;
  assign sends = asks && answer_i == ANSWER_SEND;
  assign skips = asks && answer_i == ANSWER_SKIP;
  assign ends_now = retired && end_q == any_index;
  assign moves = wakes && !failing && !asks;  // by any number: arm_psn_i, which nobody else looks at then
  assign behind = nxt_q - send_psn_q;
  assign entry = '{
          packets: s_axis_entry_tdata.packets,
          last: s_axis_entry_tdata.bd.last,
          destination_index: s_axis_entry_tdata.bd.destination_index,
          tag: s_axis_entry_tdata.tag
      };
  function automatic end_t end_of(input place_t place);
    return ends[{any_index, place}];
  endfunction

  // What waits when the QP is armed has its PSNs from then on.
  logic [Depth-1:0][23:0] armed_psns;

  always_comb begin
    armed_psns = psns_q;
    tail_psn   = tail_psn_q;
    if (arms) begin
      tail_psn = arm_psn_i;
      for (int unsigned k = 0; k < Depth; k++) begin
        if (pointer_t'(k) < count) begin
          automatic place_t place = head[PlaceW-1:0] + place_t'(k);
          armed_psns[place] = tail_psn;
          tail_psn = tail_psn + 24'(end_of(place).packets);
        end
      end
    end
  end

  // rc_protocol
  always_comb begin
    assume (32'(any_bit) < $bits(rc_entry_t));
    assume (any_index == '0);  // QPs differ in nothing but their number
    assume (9'(qp_i) < 9'(RcQps) && 9'(s_axis_entry_tdata.bd.qp) < 9'(RcQps));
    assume (!(asks_q && wake_i) && !(arm_i && back_i) && (!(back_i || arm_i) || wake_i));
    assume (!asks_q || qp_i == 8'(send_q));
    assume (!(ask_o && ask_ready_i && wake_i && qp_i == ask_qp_o));
    assume (answer_i == ANSWER_WAIT || answer_i == ANSWER_SEND || answer_i == ANSWER_SKIP);
    // A QP is in error until it is armed; it is armed only then, when nothing of its ring was sent.
    assume (armed_q[any_index] || failing);
    assume (!failing_q || failing || arms_q);
    assume (failing_q || !failing || wakes_q || skips_fresh_q);
    assume (!arms_q || !failing);
    assume (!arms || (failing && upto_next == '0));
    // Nothing is sent in error. A new message is sent when it fits the window, or passed over and the QP fails.
    assume (!(asks && failing) || answer_i == ANSWER_SKIP);
    assume (!(sends && fresh) || (ask_packets_o != '0 && nxt_q - una_q + 24'(ask_packets_o) <= WINDOW_MAX));
    assume (!skips_fresh_q || failing);
    // What is acknowledged only moves on, as an operation, and never beyond what was sent; in error it stands still.
    assume (look_qp_o != 8'(any_index) || !armed_q[any_index] || look_una_i == una_q);
    assume (!moves || arm_psn_i - una_q <= nxt_q - una_q);
  end

  always_ff @(posedge clk) begin
    any_index <= any_index;
    any_place <= any_place;
    any_bit <= any_bit;
    failing_q <= failing && !rst;
    arms_q <= arms && !rst;
    wakes_q <= wakes || rst;
    skips_fresh_q <= skips && fresh && !failing && !rst;
    if (moves) una_q <= arm_psn_i;
    tail_psn_q <= tail_psn;
    if (sends && fresh) begin
      fresh_q <= fresh_q + 1'b1;
      nxt_q   <= nxt_q + 24'(ask_packets_o);
    end
    if (ends_now && !acked) broken_q <= 1'b1;
    psns_q <= armed_psns;
    if (accepts) begin
      psns_q[tail[PlaceW-1:0]] <= tail_psn;
      tail_psn_q <= tail_psn + 24'(s_axis_entry_tdata.packets);
      if (tail[PlaceW-1:0] == any_place) begin
        entry_q <= entry;
        bit_q   <= s_axis_entry_tdata[any_bit];
      end
    end
    if (asks) waits_q <= answer_i == ANSWER_WAIT;
    if (wakes) waits_q <= 1'b0;
    if (arms) begin
      fresh_q <= head;
      nxt_q <= arm_psn_i;
      una_q <= arm_psn_i;
      broken_q <= 1'b0;
    end
    if (rst) begin
      broken_q <= 1'b1;
      waits_q  <= 1'b0;
    end
  end

  // By place: every PSN follows from the one before, both memories agree, what was sent has packets.
  logic chained, agree;
  logic [Depth-1:0] some, ends_before, bounded;
  logic [23:0] head_psn, next_psn, fresh_psn, head_packets;

  always_comb begin
    chained = 1'b1;
    agree = 1'b1;
    some = '1;
    ends_before = '1;
    bounded = '1;
    for (int unsigned k = 0; k < Depth; k++) begin
      automatic pointer_t from_head = pointer_t'(place_t'(place_t'(k) - head[PlaceW-1:0]));
      automatic kept_t here = kept[{any_index, place_t'(k)}];
      automatic logic [23:0] behind_it = from_head + 1'b1 == count ? tail_psn_q : psns_q[place_t'(k+1)];
      if (from_head < count) begin
        chained &= behind_it == psns_q[k] + 24'(end_of(place_t'(k)).packets);
        agree &= here.packets == end_of(place_t'(k)).packets;
        if (from_head < upto_fresh) begin
          some[k] = here.packets != '0;
          ends_before[k] = 24'(here.packets) <= nxt_q - psns_q[k];
          bounded[k] = nxt_q - psns_q[k] <= {24'(upto_fresh - from_head)} << 16;
        end
      end
    end
    head_psn = count == '0 ? tail_psn_q : psns_q[head[PlaceW-1:0]];
    next_psn = next == tail ? tail_psn_q : psns_q[next[PlaceW-1:0]];
    fresh_psn = fresh_q == tail ? tail_psn_q : psns_q[fresh_q[PlaceW-1:0]];
    head_packets = 24'(end_of(head[PlaceW-1:0]).packets);
  end

  for (genvar k = 0; k < Depth; k++) begin : gen_place
    always_comb begin
      if (!rst && !broken_q) begin
        i_some : assert (some[k]);
        i_ends : assert (ends_before[k]);
        i_bounded : assert (bounded[k]);
      end
    end
  end

  // Its data, behind a question
  logic issued_q;
  logic [23:0] issued_psn_q;
  logic [15:0] issued_skip_q;
  logic issued_bit_q;
  logic [15:0] issued_packets_q;

  always_ff @(posedge clk) begin
    issued_q <= sends && next[PlaceW-1:0] == any_place && !rst;
    issued_psn_q <= answer_psn_i;
    issued_skip_q <= answer_skip_i;
    issued_bit_q <= bit_q;
    issued_packets_q <= entry_q.packets;
  end

  rc_entry_t issued, here, read;

  function automatic rc_entry_t whole(input kept_t word, input framelane_pkg::trailer_t trailer);
    return '{tag: word.tag, packets: word.packets, trailer: trailer, bd: word.bd};
  endfunction

  assign issued = '{
          tag: m_axis_issue_tdata.tag,
          packets: issued_packets_q,
          trailer: m_axis_issue_tdata.trailer,
          bd: m_axis_issue_tdata.bd
      };
  assign here = whole(kept[{any_index, any_place}], trailers[{any_index, any_place}]);
  assign read = whole(send_q_kept, send_q_trailer);

  always_comb begin
    if (!rst) begin
      a_count : assert (count <= pointer_t'(Depth) && upto_next <= count);
      if (asks) a_there : assert (next != tail);
      if (asks && next[PlaceW-1:0] == any_place) begin
        a_packets : assert (ask_packets_o == entry_q.packets);
        a_psn : assert (failing || send_psn_q == psns_q[any_place]);
      end
      if (asks && !failing) begin
        a_fresh : assert (fresh == (send_psn_q == nxt_q));
        a_before : assert (fresh || (ask_packets_o != '0 && behind < 24'h40_0000 && 24'(ask_packets_o) <= behind));
      end
      if (issued_q) begin
        a_issue :
        assert (m_axis_issue_tvalid && m_axis_issue_tdata.rc && m_axis_issue_tdata.psn == issued_psn_q &&
            m_axis_issue_tdata.skip == issued_skip_q && issued[any_bit] == issued_bit_q);
      end
      if (ends_now) begin
        a_sent : assert (upto_next != '0);
        a_acked :
        assert (acked == (armed_q[any_index] && !broken_q && upto_fresh != '0 && una_q - head_psn >= head_packets));
        a_failed : assert (acked || failing);
        if (head[PlaceW-1:0] == any_place) begin
          a_turn : assert (end_q_kept == entry_q);
        end
      end
      if (looked_q[any_index]) begin
        a_looked :
        assert (upto_next != '0 && !failing && (broken_q || upto_fresh == '0 || una_q - head_psn < head_packets));
      end
      if (!waits_q) a_blocked : assert (!blocked_q[any_index]);

      i_free : assert (!(asks_q && m_axis_issue_tvalid) && !(looks_q && m_axis_retired_tvalid));
      i_loads : assert (loads_q == {Groups{asks_q}});
      i_broken : assert (!broken_q || failing);
      i_failing : assert (failing || upto_next <= upto_fresh);
      if (broken_q && armed_q[any_index]) i_over : assert (head_psns[any_index] == una_q);
      if (!broken_q) begin
        i_fresh : assert (upto_fresh <= count);
        i_chained : assert (chained);
        i_head : assert (head_psns[any_index] == head_psn);
        i_next : assert (next_psns[any_index] == next_psn);
        i_nxt : assert (nxt_q == fresh_psn);
        i_window : assert (nxt_q - una_q <= WINDOW_MAX);
        i_una : assert (una_q - head_psns[any_index] <= nxt_q - head_psns[any_index]);
      end
      i_agree : assert (agree);
      if (alive) i_kept : assert (here[any_bit] == bit_q && end_of(any_place) == entry_q);
      if (asks_q && send_q == any_index) begin
        i_asks :
        assert (next != tail && !blocked_q[any_index] && read.packets == end_of(next[PlaceW-1:0]).packets &&
            (next[PlaceW-1:0] != any_place || read[any_bit] == bit_q) &&
            send_psn_q == next_psns[any_index] && send_after_q == next + 1'b1);
      end
      if (looks_q && end_q == any_index && upto_next != '0) begin
        i_looks :
        assert (!looked_q[any_index] && end_q_kept == ends[{any_index, head[PlaceW-1:0]}] &&
            end_psn_q == head_psns[any_index] && done_q == end_una_q - end_psn_q);
        if (armed_q[any_index]) begin
          i_seen : assert (late_q ? end_una_q - end_psn_q <= una_q - end_psn_q : end_una_q == una_q);
          if (broken_q) i_still : assert (end_una_q == una_q);
        end
      end
    end
  end

endmodule

bind rc_ring rc_ring_formal #(
    .RcQps(RcQps),
    .Depth(Depth)
) u_formal (.*);
