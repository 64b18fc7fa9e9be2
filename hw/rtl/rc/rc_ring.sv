// Rings of descriptors, one a QP: accepted at the tail, sent, sent again from the head on, ended at the head when acknowledged.
// A message is sent every two cycles. What may be sent and what is acknowledged, rc_protocol says.
module rc_ring
  import framelane_pkg::*;
  import rc_pkg::*;
#(
    parameter int unsigned RcQps = 16,
    parameter int unsigned Depth = 64   // descriptors of each QP
) (
    input logic clk,
    input logic rst,  // for two cycles at least; nothing is accepted in the first one behind it

    // Descriptors, packets counted
    input  rc_entry_t s_axis_entry_tdata,
    input  logic      s_axis_entry_tvalid,
    output logic      s_axis_entry_tready,

    // May the next message be sent? Asked for while it is wanted; it is given to the transmitter if so. A question is not taken while
    // something happens to its QP
    input  logic              wanted_i,
    output logic              ask_o,
    input  logic              ask_ready_i,
    output logic       [ 7:0] ask_qp_o,
    output logic       [23:0] ask_psn_o,
    // In the cycle after that, qp_i being its QP
    output logic       [15:0] ask_packets_o,
    input  rc_answer_e        answer_i,
    input  logic       [23:0] answer_psn_i,
    input  logic       [15:0] answer_skip_i,

    // What happens to a QP: not with an answer, and not to the QP whose question is taken
    input logic [ 7:0] qp_i,
    input logic        wake_i,
    input logic        back_i,
    input logic        arm_i,     // nothing in its ring was sent
    input logic [23:0] arm_psn_i,

    // What is acknowledged
    output logic [      7:0] look_qp_o,
    input  logic [     23:0] look_una_i,
    input  logic [RcQps-1:0] failing_i,

    output rc_issue_t m_axis_issue_tdata,
    output logic      m_axis_issue_tvalid,
    input  logic      m_axis_issue_tready,

    output rc_retired_t m_axis_retired_tdata,
    output logic        m_axis_retired_tvalid,
    input  logic        m_axis_retired_tready,

    // Room for one more frame, answered three cycles later while nothing is let in; frames that were let in
    input  logic [      7:0] room_qp_i,
    input  logic [     15:0] room_wanted_i,  // its descriptors
    output logic             room_o,
    input  logic             admit_i,        // pulse: a frame for room_qp_i will come
    output logic [RcQps-1:0] drained_o,      // the ring is empty, and no frame has begun that has not ended
    output logic [RcQps-1:0] expects_o,      // a frame was let in, or has begun, of which not all has come

    // A message is given to the transmitter: pulse of its QP, tag of its frame
    output logic [RcQps-1:0] issued_o,
    output tag_t             issued_tag_o
);

  localparam int unsigned INDEX_W = $clog2(RcQps);
  localparam int unsigned PLACE_W = $clog2(Depth);
  localparam int unsigned FRAMES_W = 2;  // frames let in, of which not all has come
  localparam int unsigned GROUP_W = 128;
  localparam int unsigned ISSUE_GROUPS = ($bits(rc_issue_t) + GROUP_W - 1) / GROUP_W;

  if (RcQps < 2 || RcQps > 256 || (RcQps & (RcQps - 1)) != 0) begin : gen_check_qps
    $error("%m: RcQps = %0d must be a power of two, 2 to 256", RcQps);
  end
  if (Depth < 4 || Depth > 32768 || (Depth & (Depth - 1)) != 0) begin : gen_check_depth
    $error("%m: Depth = %0d must be a power of two, 4 to 32768", Depth);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [PLACE_W:0] pointer_t;  // one bit more than a place: equal is empty, Depth apart is full
  typedef logic [RcQps-1:0] set_t;

  // Without the QP: that is part of the address.
  typedef struct packed {
    tag_t        tag;
    logic [15:0] packets;
    bd_t         bd;
  } kept_t;

  typedef struct packed {
    logic [15:0] packets;
    logic        last;
    logic [7:0]  destination_index;
    tag_t        tag;
  } end_t;

  kept_t kept[RcQps*Depth];
  trailer_t trailers[RcQps*Depth];
  end_t ends[RcQps*Depth];
  logic [23:0] head_psns[RcQps], next_psns[RcQps];  // of the first packet of the entries there

  (* keep, dont_merge *)logic [2:0] rst_q;  // the reset a cycle later, for each of the pointers: none drives too much
  pointer_t [RcQps-1:0] head_q, next_q, tail_q;
  set_t blocked_q, looked_q, whole_q, armed_q;  // armed since the reset: else there are no PSNs
  set_t may_send, may_end;

  always_comb begin
    for (int unsigned q = 0; q < RcQps; q++) begin
      may_send[q]  = next_q[q] != tail_q[q] && !blocked_q[q];
      may_end[q]   = head_q[q] != next_q[q] && !looked_q[q];
      drained_o[q] = head_q[q] == tail_q[q] && whole_q[q];
    end
  end

  // The lowest of a set, by halves.
  function automatic index_t lowest(input set_t set);
    logic [RcQps-1:0] any;
    index_t [RcQps-1:0] found;
    any   = set;
    found = '0;
    for (int unsigned bits = 0; bits < INDEX_W; bits++) begin
      for (int unsigned k = 0; k < RcQps >> (bits + 1); k++) begin
        found[k] = any[2*k] ? found[2*k] : found[2*k+1] | index_t'(1 << bits);
        any[k]   = any[2*k] || any[2*k+1];
      end
    end
    return found[0];
  endfunction

  // The next of a set in turn.
  function automatic index_t after(input set_t set, input index_t last);
    set_t above;
    for (int unsigned k = 0; k < RcQps; k++) above[k] = set[k] && index_t'(k) > last;
    return above != '0 ? lowest(above) : set != '0 ? lowest(set) : last;
  endfunction

  // Accepting.
  index_t in_qp;
  pointer_t in_tail;
  logic accepted;

  assign in_qp = index_t'(s_axis_entry_tdata.bd.qp);
  assign in_tail = tail_q[in_qp];
  assign s_axis_entry_tready = (in_tail ^ head_q[in_qp]) != pointer_t'(Depth) && !rst_q[0];
  assign accepted = s_axis_entry_tvalid && s_axis_entry_tready;

  always_ff @(posedge clk) begin
    if (accepted) begin
      kept[{in_qp, in_tail[PLACE_W-1:0]}] <= '{
          tag: s_axis_entry_tdata.tag,
          packets: s_axis_entry_tdata.packets,
          bd: s_axis_entry_tdata.bd
      };
      trailers[{in_qp, in_tail[PLACE_W-1:0]}] <= s_axis_entry_tdata.trailer;
      ends[{in_qp, in_tail[PLACE_W-1:0]}] <= '{
          packets: s_axis_entry_tdata.packets,
          last: s_axis_entry_tdata.bd.last,
          destination_index: s_axis_entry_tdata.bd.destination_index,
          tag: s_axis_entry_tdata.tag
      };
    end
  end

  // Sending: read, and ask, in one cycle; sent as the answer says, in the next.
  index_t send_pick_q, send_q, at;
  logic asks_q, read, sent, skipped;
  (* keep, dont_merge *)logic [ISSUE_GROUPS-1:0] loads_q;  // as asks_q, for a few bits of what is issued each
  logic [$bits(rc_issue_t)-1:0] issue, issue_q;
  kept_t send_q_kept;
  trailer_t send_q_trailer;
  pointer_t send_after_q;
  logic [23:0] send_psn_q;

  assign at = index_t'(qp_i);
  assign ask_o = !asks_q && wanted_i && may_send[send_pick_q] && (!m_axis_issue_tvalid || m_axis_issue_tready);
  assign ask_qp_o = 8'(send_pick_q);
  assign ask_psn_o = next_psns[send_pick_q];
  assign read = ask_o && ask_ready_i;

  assign ask_packets_o = send_q_kept.packets;
  assign sent = asks_q && answer_i == ANSWER_SEND;
  assign skipped = asks_q && answer_i == ANSWER_SKIP;

  always_ff @(posedge clk) begin
    // In turn, however long none is wanted; a question that waits keeps its turn.
    if (!ask_o || ask_ready_i) begin
      send_pick_q <= asks_q || !wanted_i ? after(may_send, send_q) : after(may_send, send_pick_q);
    end
    asks_q <= read;
    if (read) begin
      send_q <= send_pick_q;
      send_q_kept <= kept[{send_pick_q, next_q[send_pick_q][PLACE_W-1:0]}];
      send_q_trailer <= trailers[{send_pick_q, next_q[send_pick_q][PLACE_W-1:0]}];
      send_after_q <= next_q[send_pick_q] + 1'b1;
      send_psn_q <= ask_psn_o;
    end
    if (m_axis_issue_tready) m_axis_issue_tvalid <= 1'b0;
    if (asks_q) m_axis_issue_tvalid <= sent;
    issued_o <= '0;
    issued_o[send_q] <= sent;
    issued_tag_o <= send_q_kept.tag;
    if (rst) begin
      asks_q <= 1'b0;
      m_axis_issue_tvalid <= 1'b0;
      issued_o <= '0;
    end
  end

  assign issue = rc_issue_t'{
          tag: send_q_kept.tag,
          rc: 1'b1,
          psn: answer_psn_i,
          skip: answer_skip_i,
          trailer: send_q_trailer,
          bd: send_q_kept.bd
      };

  for (genvar g = 0; g < ISSUE_GROUPS; g++) begin : gen_issue
    localparam int unsigned AT = g * GROUP_W;
    localparam int unsigned WIDTH = AT + GROUP_W > $bits(rc_issue_t) ? $bits(rc_issue_t) - AT : GROUP_W;

    always_ff @(posedge clk) begin
      loads_q[g] <= read && !loads_q[g] && !rst;
      if (loads_q[g]) issue_q[AT+:WIDTH] <= issue[AT+:WIDTH];
    end
  end

  assign m_axis_issue_tdata = issue_q;

  // Ending: the same steps, not while something happens to the QP. What happens then makes it be looked at again; an end that was
  // found before still counts, unless the QP has gone back.
  index_t end_pick_q, end_q;
  logic looks_q, late_q, end_read, was_sent, acked, retired, held;
  end_t end_q_kept;
  logic [PLACE_W-1:0] end_place;
  logic [23:0] end_psn_q, end_una_q, done_q;

  assign held = arm_i || (wake_i && at == end_q);
  assign end_place = head_q[end_pick_q][PLACE_W-1:0];
  assign end_read = !looks_q && may_end[end_pick_q] && (!m_axis_retired_tvalid || m_axis_retired_tready) &&
      !(wake_i && at == end_pick_q);
  assign look_qp_o = 8'(end_pick_q);
  assign acked = armed_q[end_q] && end_q_kept.packets != '0 && !done_q[23] && done_q >= 24'(end_q_kept.packets);
  assign was_sent = head_q[end_q] != next_q[end_q];  // and the QP has not gone back since
  assign retired = looks_q && !held && was_sent && (acked || (failing_i[end_q] && !late_q));

  always_ff @(posedge clk) begin
    end_pick_q <= looks_q ? after(may_end, end_q) : after(may_end, end_pick_q);
    looks_q <= looks_q ? held : end_read;
    late_q <= looks_q && held;
    if (end_read) begin
      end_q <= end_pick_q;
      end_q_kept <= ends[{end_pick_q, end_place}];
      end_psn_q <= head_psns[end_pick_q];
      end_una_q <= look_una_i;
      done_q <= look_una_i - head_psns[end_pick_q];
    end
    if (m_axis_retired_tready) m_axis_retired_tvalid <= 1'b0;
    if (retired) begin
      m_axis_retired_tvalid <= 1'b1;
      m_axis_retired_tdata <= '{
          failed: !acked,
          last: end_q_kept.last,
          destination_index: end_q_kept.destination_index,
          tag: end_q_kept.tag
      };
    end
    if (rst) begin
      looks_q <= 1'b0;
      m_axis_retired_tvalid <= 1'b0;
    end
  end

  // Pointers. While a QP goes back or is armed, nothing of it ends.
  always_ff @(posedge clk) begin
    if (accepted) tail_q[in_qp] <= in_tail + 1'b1;
    if (sent || skipped) next_q[send_q] <= send_after_q;
    if (back_i) next_q[at] <= head_q[at];
    if (retired) head_q[end_q] <= head_q[end_q] + 1'b1;
    for (int unsigned k = 0; k < 3; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
    if (rst_q[0]) head_q <= '0;
    if (rst_q[1]) next_q <= '0;
    if (rst_q[2]) tail_q <= '0;
  end

  logic [23:0] next_psn;

  always_comb begin
    next_psn = arm_i ? arm_psn_i : head_psns[at];
    if (asks_q) next_psn = send_psn_q + 24'(send_q_kept.packets);
  end

  always_ff @(posedge clk) begin
    if (sent || skipped || back_i || arm_i) next_psns[at] <= next_psn;
    if (arm_i) head_psns[at] <= arm_psn_i;
    else if (retired) head_psns[end_q] <= acked ? end_psn_q + 24'(end_q_kept.packets) : end_una_q;
    if (arm_i) armed_q[at] <= 1'b1;
    if (rst) armed_q <= '0;
  end

  // Which QPs need not be asked for, or looked at, until something happens to them. With a message that is passed over, its QP may
  // have failed.
  always_ff @(posedge clk) begin
    if (asks_q && answer_i == ANSWER_WAIT) blocked_q[send_q] <= 1'b1;
    if (looks_q && !held && was_sent && !retired && !late_q) looked_q[end_q] <= 1'b1;
    if (skipped) looked_q[send_q] <= 1'b0;
    if (wake_i) begin
      blocked_q[at] <= 1'b0;
      looked_q[at]  <= 1'b0;
    end
    if (rst) begin
      blocked_q <= '0;
      looked_q  <= '0;
    end
  end

  // Room. A frame of more descriptors than a ring holds is let in when the ring is empty, and waits in front of it. The sum takes three
  // steps: what is counted for the QP, what is still to come of the frames that were let in, and whether all fits.
  localparam int unsigned SUM_W = PLACE_W + FRAMES_W + 1;
  typedef logic [SUM_W-1:0] sum_t;

  logic [RcQps-1:0][FRAMES_W-1:0] frames_q;  // let in, of which not all has come
  pointer_t [RcQps-1:0] begun_q;  // descriptors of the oldest of these that have come, if any, at most Depth
  pointer_t [RcQps-1:0] most_q;  // descriptors of the largest of these, for which all count
  index_t room_at;
  pointer_t begun, wanted, most, wanted_q, head_picked_q, tail_picked_q, begun_picked_q, most_picked_q, left;
  logic [FRAMES_W-1:0] frames_picked_q;
  sum_t needed_q, used_q;

  assign room_at = index_t'(room_qp_i);
  assign wanted = room_wanted_i < 16'(Depth) ? pointer_t'(room_wanted_i) : pointer_t'(Depth);
  assign most = most_q[room_at];
  assign begun = whole_q[in_qp] ? '0 : begun_q[in_qp];
  assign left = begun_picked_q < most_picked_q ? most_picked_q - begun_picked_q : '0;

  always_comb begin
    for (int unsigned q = 0; q < RcQps; q++) expects_o[q] = frames_q[q] != '0 || !whole_q[q];
  end

  always_ff @(posedge clk) begin
    wanted_q <= wanted;
    head_picked_q <= head_q[room_at];
    tail_picked_q <= tail_q[room_at];
    begun_picked_q <= whole_q[room_at] ? '0 : begun_q[room_at];
    most_picked_q <= most;
    frames_picked_q <= frames_q[room_at];

    needed_q <= sum_t'(wanted_q) + (frames_picked_q == '0 ? '0 : sum_t'(left));
    used_q <= sum_t'(pointer_t'(tail_picked_q - head_picked_q)) +
        (frames_picked_q == 2'd2 ? sum_t'(most_picked_q) : '0);

    room_o <= !failing_i[room_at] && frames_q[room_at] != '1 && needed_q + used_q <= sum_t'(Depth);

    for (int unsigned q = 0; q < RcQps; q++) begin
      frames_q[q] <= frames_q[q] + FRAMES_W'(admit_i && room_at == index_t'(q) && frames_q[q] != '1) -
          FRAMES_W'(accepted && s_axis_entry_tdata.bd.last && in_qp == index_t'(q) && frames_q[q] != '0);
    end
    if (admit_i && (frames_q[room_at] == '0 || wanted > most)) most_q[room_at] <= wanted;
    if (accepted) begin
      whole_q[in_qp] <= s_axis_entry_tdata.bd.last;
      if (begun != pointer_t'(Depth)) begun_q[in_qp] <= begun + 1'b1;
    end
    if (rst) begin
      frames_q <= '0;
      whole_q  <= '1;
    end
  end

  logic unused;
  assign unused = ^{qp_i, room_qp_i};

endmodule
