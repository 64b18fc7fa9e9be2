// The sender's part of the RC service: descriptors in, and out again as often as it takes until they are acknowledged. Those of
// other QPs pass through. Wiring, the entry into the rings and the way out of them.
//
//   descriptors, trailers -> rc_ring -> descriptors, trailers, PSNs
//                               |
//   events, commands -> rc_protocol -- rc_timer
module rc_requester
  import framelane_pkg::*;
  import rc_pkg::*;
  import roce_pkg::*;
  import roce_rx_pkg::*;
#(
    parameter int unsigned DataW      = 512,  // of the payload
    parameter int unsigned RcQps      = 16,   // QPs that may be of RC: the first of the table
    parameter int unsigned Depth      = 64,   // descriptors of each that are kept
    parameter int unsigned Ahead      = 384,  // beats issued before they are wanted: they hide the memory's latency
    parameter int unsigned TickClocks = 256   // cycles of 1.024 us
) (
    input logic clk,
    input logic rst,  // for two cycles at least; nothing is accepted in the first one behind it

    // Descriptors, and the trailers of those that are `last`
    input  bd_t        s_axis_bd_tdata,
    input  logic       s_axis_bd_tvalid,
    output logic       s_axis_bd_tready,
    input  tag_t       tag_i,                    // of the frame to which the descriptor on offer belongs
    input  trailer_t   s_axis_trailer_tdata,
    input  logic       s_axis_trailer_tvalid,
    output logic       s_axis_trailer_tready,

    // The same for the transmitter, shortened and with a PSN where they are sent again
    output rc_item_t m_axis_item_tdata,
    output logic     m_axis_item_tvalid,
    input  logic     m_axis_item_tready,
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // A beat of the payload is taken: of memory, or of a trailer
    input logic beat_i,

    // Ends of messages: all of the payload is taken
    input logic       ended_i,    // pulse
    input logic [7:0] ended_qp_i,

    // Behind that: packets that have not left yet, of messages that have ended by this cycle, at most; one has left
    input logic [7:0] in_line_i,
    input logic       left_i,     // pulse

    // What is held for whom, for rc_ledger
    output logic        accepted_o,             // pulse: the descriptor with tag_i is accepted
    output logic        accepted_rc_o,          // it will be retired
    output logic        issued_o,               // pulse: a kept descriptor is given to the transmitter
    output tag_t        issued_tag_o,
    output rc_retired_t m_axis_retired_tdata,
    output logic        m_axis_retired_tvalid,
    input  logic        m_axis_retired_tready,

    // What receivers say. CNPs are only told apart
    input  event_t     s_axis_event_tdata,
    input  logic       s_axis_event_tvalid,
    output logic       s_axis_event_tready,
    output logic       cnp_o,                // pulse
    output logic [7:0] cnp_qp_o,

    // Writes to the QP table, as roce_tx takes them
    input qp_write_t qp_write_i,
    input logic      qp_write_valid_i,

    // Limits of a QP
    input rc_limits_t       limits_i,
    input logic       [7:0] limits_qp_i,
    input logic             limits_write_i,

    // Commands: to arm a QP, whatever it does; to put one into error. Each is taken with one of the pulses
    input  rc_command_t s_axis_command_tdata,    // its reason does not count
    input  logic        s_axis_command_tvalid,
    output logic        s_axis_command_tready,
    output logic        done_o,
    output logic        refused_o,               // no such QP, or its entry in the table does not allow it

    // Room for a frame of so many descriptors, answered three cycles later. QPs that are not of RC always have room
    input  logic [ 7:0] room_qp_i,
    input  logic [15:0] room_wanted_i,
    output logic        room_o,
    input  logic        admit_i,        // pulse: that frame comes

    // State of a QP, in the same cycle
    input  logic       [7:0] status_qp_i,
    output rc_status_t       status_o,

    // What happens, for the counters
    output logic     [7:0] note_qp_o,
    output rc_note_e       note_o,
    output logic           again_o,    // pulse: a message leaves again

    output logic idle_o  // nothing is kept, and nothing under way
);

  localparam int unsigned INDEX_W = $clog2(RcQps);
  localparam int unsigned MESSAGES_W = 12;  // of a QP, in the transmitter

  if (RcQps < 2 || RcQps > 256 || (RcQps & (RcQps - 1)) != 0) begin : gen_check
    $error("%m: RcQps = %0d must be a power of two, 2 to 256", RcQps);
  end

  typedef logic [INDEX_W-1:0] index_t;
  typedef logic [RcQps-1:0] set_t;

  function automatic logic exists(input logic [7:0] qp);
    return 9'(qp) < 9'(RcQps);
  endfunction

  (* keep, dont_merge *)logic [2:0] rst_q;  // the reset a cycle later: none of these drives too much

  always_ff @(posedge clk) begin
    for (int unsigned k = 0; k < 3; k++) if (rst || rst_q[k]) rst_q[k] <= rst;
  end

  // What is known of the QPs.
  rc_context_t [RcQps-1:0] contexts_q;
  rc_limits_t limits[RcQps] = '{default: '0};  // as the registers power up, and no reset changes them
  rc_context_t written;
  set_t rewritten_q;
  logic [7:0] op_qp, timer_qp;

  assign written = '{
          rc: qp_write_i.qp.service == RC,
          usable: qp_write_i.qp.enabled && qp_write_i.qp.service == RC && qp_write_i.qp.ack_policy != NEVER &&
              qp_write_i.qp.mtu_log2 >= MTU_LOG2_MIN && qp_write_i.qp.mtu_log2 <= MTU_LOG2_MAX,
          message: qp_write_i.qp.segmentation == MESSAGE,
          mtu_log2: qp_write_i.qp.mtu_log2
      };

  always_ff @(posedge clk) begin
    if (limits_write_i && exists(limits_qp_i)) limits[index_t'(limits_qp_i)] <= limits_i;
  end

  // Accepting: a trailer comes with its descriptor. Packets are counted here. A frame stays where it has begun, and goes to the ring
  // that has let it in, though its QP's entry in the table is changed meanwhile.
  rc_entry_t entry;
  logic entry_tvalid, entry_tready, through_tvalid, lets_through, is_rc, complete, accepted, passing_q;
  set_t expected, of_rc;
  rc_context_t in_context;
  logic [32:0] by_mtu;
  logic [15:0] packets;

  assign in_context = contexts_q[index_t'(s_axis_bd_tdata.qp)];
  assign is_rc = exists(s_axis_bd_tdata.qp) && !passing_q && of_rc[index_t'(s_axis_bd_tdata.qp)];
  assign complete = s_axis_bd_tvalid && !rst_q[0] && (!s_axis_bd_tdata.last || s_axis_trailer_tvalid);
  assign entry_tvalid = complete && is_rc;
  assign through_tvalid = complete && !is_rc;
  assign accepted = complete && (is_rc ? entry_tready : lets_through);
  assign s_axis_bd_tready = accepted;
  assign s_axis_trailer_tready = accepted && s_axis_bd_tdata.last;
  assign accepted_o = accepted;
  assign accepted_rc_o = is_rc;

  always_ff @(posedge clk) begin
    if (accepted) passing_q <= !is_rc && !s_axis_bd_tdata.last;
    if (rst) passing_q <= 1'b0;
  end

  always_comb begin
    // A sum for each MTU: which one the QP has is known late.
    packets = '0;
    for (int unsigned log2 = 32'(MTU_LOG2_MIN); log2 <= 32'(MTU_LOG2_MAX); log2++) begin
      by_mtu = (33'(s_axis_bd_tdata.length) + (33'd1 << log2) - 33'd1) >> log2;
      packets |= {16{in_context.mtu_log2 == 4'(log2)}} & (by_mtu[32:16] != '0 ? PACKETS_MAX : by_mtu[15:0]);
    end
    entry = '{
        tag: tag_i,
        packets: packets,
        trailer: s_axis_trailer_tdata,
        bd: s_axis_bd_tdata
    };
  end

  // Messages in the transmitter, by QP, and how many packets leave until the last of those that have ended has left. What passes
  // through is counted a cycle later, and is under way meanwhile: whether it passes is known late.
  logic timer_write;
  logic [RcQps-1:0][MESSAGES_W-1:0] messages_q;
  logic [RcQps-1:0][7:0] line_q;
  set_t issued, passed, passed_q, ended, in_line, under_way, started, left_q;

  always_comb begin
    ended = '0;
    ended[index_t'(ended_qp_i)] = ended_i && exists(ended_qp_i);
    started = '0;
    started[index_t'(timer_qp)] = timer_write;
    for (int unsigned q = 0; q < RcQps; q++) begin
      // As accepted && !is_rc, of this QP: what it is need not be chosen by the QP before
      of_rc[q] = contexts_q[q].rc || expected[q];
      passed[q] = complete && lets_through && s_axis_bd_tdata.qp == 8'(q) && (passing_q || !of_rc[q]);
      in_line[q] = line_q[q] != '0;
      under_way[q] = messages_q[q] != '0 || passed_q[q] || in_line[q];
    end
  end

  // Of two that come and one that ends, in one number to be added.
  function automatic logic [MESSAGES_W-1:0] step(input logic one, input logic other, input logic less);
    unique case ({one, other, less})
      3'b001: return '1;
      3'b010, 3'b100, 3'b111: return MESSAGES_W'(1);
      3'b110: return MESSAGES_W'(2);
      default: return '0;
    endcase
  endfunction

  always_ff @(posedge clk) begin
    for (int unsigned q = 0; q < RcQps; q++) begin
      messages_q[q] <= messages_q[q] + step(issued[q], passed_q[q], ended[q]);
      if (ended[q] || in_line_i == '0) line_q[q] <= in_line_i;
      else line_q[q] <= line_q[q] - 8'(left_i && in_line[q]);
    end
    // Time-outs count from when the last packet has left: a timer during which one did starts once more.
    left_q <= (left_q & ~started) | ended | in_line;
    passed_q <= passed;
    if (rst_q[0]) messages_q <= '0;
    if (rst_q[1]) line_q <= '0;
    if (rst_q[1]) begin
      left_q   <= '0;
      passed_q <= '0;
    end
  end

  // Ring, protocol, timer
  logic ask, ask_ready, wake, back, arm, timer_run, expired_valid, expired_ready, issue_tvalid, issue_tready, room_rc;
  logic wanted;  // another message
  logic [7:0] ask_qp, look_qp, limits_qp, expired_qp;
  logic [23:0] ask_psn, answer_psn, arm_psn, look_una;
  logic [15:0] ask_packets, answer_skip;
  ticks_t timer_ticks;
  rc_answer_e answer;
  set_t failing, drained;
  rc_issue_t issue;
  logic room_through_q;  // the QP whose room was asked for is not of RC

  rc_ring #(
      .RcQps(RcQps),
      .Depth(Depth)
  ) u_ring (
      .clk,
      .rst,
      .s_axis_entry_tdata (entry),
      .s_axis_entry_tvalid(entry_tvalid),
      .s_axis_entry_tready(entry_tready),
      .wanted_i           (wanted),
      .ask_o              (ask),
      .ask_ready_i        (ask_ready),
      .ask_qp_o           (ask_qp),
      .ask_psn_o          (ask_psn),
      .ask_packets_o      (ask_packets),
      .answer_i           (answer),
      .answer_psn_i       (answer_psn),
      .answer_skip_i      (answer_skip),
      .qp_i               (op_qp),
      .wake_i             (wake),
      .back_i             (back),
      .arm_i              (arm),
      .arm_psn_i          (arm_psn),
      .look_qp_o          (look_qp),
      .look_una_i         (look_una),
      .failing_i          (failing),
      .m_axis_issue_tdata (issue),
      .m_axis_issue_tvalid(issue_tvalid),
      .m_axis_issue_tready(issue_tready),
      .m_axis_retired_tdata,
      .m_axis_retired_tvalid,
      .m_axis_retired_tready,
      .room_qp_i,
      .room_wanted_i,
      .room_o             (room_rc),
      .admit_i             (admit_i && !room_through_q),
      .drained_o          (drained),
      .expects_o          (expected),
      .issued_o           (issued),
      .issued_tag_o
  );

  rc_command_t command;
  event_t event_tdata;
  logic command_tvalid, command_tready, event_tvalid, event_tready;

  rc_protocol #(
      .RcQps(RcQps)
  ) u_protocol (
      .clk,
      .rst,
      .limits_qp_o          (limits_qp),
      .limits_i             (limits[index_t'(limits_qp)]),
      .ask_i                (ask),
      .ask_ready_o          (ask_ready),
      .ask_limits_i         (limits[index_t'(ask_qp)]),
      .ask_qp_i             (ask_qp),
      .ask_psn_i            (ask_psn),
      .ask_packets_i        (ask_packets),
      .answer_o             (answer),
      .answer_psn_o         (answer_psn),
      .answer_skip_o        (answer_skip),
      .s_axis_command_tdata (command),
      .s_axis_command_tvalid(command_tvalid),
      .s_axis_command_tready(command_tready),
      .s_axis_event_tdata   (event_tdata),
      .s_axis_event_tvalid  (event_tvalid),
      .s_axis_event_tready  (event_tready),
      .expired_valid_i      (expired_valid),
      .expired_qp_i         (expired_qp),
      .expired_ready_o      (expired_ready),
      .under_way_i          (under_way | left_q),
      .timer_write_o        (timer_write),
      .timer_qp_o           (timer_qp),
      .timer_run_o          (timer_run),
      .timer_ticks_o        (timer_ticks),
      .qp_o                 (op_qp),
      .back_o               (back),
      .arm_o                (arm),
      .arm_psn_o            (arm_psn),
      .wake_o               (wake),
      .again_o,
      .note_o,
      .look_qp_i            (look_qp),
      .look_una_o           (look_una),
      .failing_o            (failing),
      .status_qp_i,
      .status_o
  );

  rc_timer #(
      .RcQps     (RcQps),
      .TickClocks(TickClocks)
  ) u_timer (
      .clk,
      .rst,
      .write_i        (timer_write),
      .write_qp_i     (timer_qp),
      .run_i          (timer_run),
      .ticks_i        (timer_ticks),
      .expired_valid_o(expired_valid),
      .expired_qp_o   (expired_qp),
      .expired_ready_i(expired_ready)
  );

  assign note_qp_o = op_qp;

  logic is_event, in_event_tready;
  assign is_event = exists(s_axis_event_tdata.qp) && s_axis_event_tdata.kind != CNP;
  assign s_axis_event_tready = !is_event || in_event_tready;
  assign cnp_o = s_axis_event_tvalid && s_axis_event_tdata.kind == CNP;
  assign cnp_qp_o = s_axis_event_tdata.qp;

  axis_reg #(
      .DataW($bits(event_t))
  ) u_event (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_event_tdata),
      .s_axis_tvalid(s_axis_event_tvalid && is_event),
      .s_axis_tready(in_event_tready),
      .m_axis_tdata (event_tdata),
      .m_axis_tvalid(event_tvalid),
      .m_axis_tready(event_tready)
  );

  // Commands: a QP that was rewritten fails first. One that is to be armed fails, drains, and starts: what has come into its ring since
  // it was seen to be drained was not asked for.
  typedef enum logic [1:0] {
    IDLE,
    CLOSE,  // puts the QP into error
    DRAIN   // waits until none of its messages is left, and starts it
  } state_e;

  state_e state_q, state_d;
  index_t command_at, rewritten_at, rewritten_at_q;
  logic allowed, rewrites, rewrites_q, is_idle, idle_q, ours, takes;

  assign command_at = index_t'(s_axis_command_tdata.qp);
  assign allowed = exists(s_axis_command_tdata.qp) &&
      (!s_axis_command_tdata.arm || contexts_q[command_at].usable);
  assign is_idle = drained[command_at] && !under_way[command_at];
  assign ours = (state_q == CLOSE || (state_q == DRAIN && idle_q)) && rewritten_q == '0 && !rewrites_q;
  assign rewrites = rewritten_q != '0 && (!rewrites_q || command_tready);
  assign takes = ours && command_tready;

  always_comb begin
    rewritten_at = '0;
    for (int unsigned q = 0; q < RcQps; q++) if (rewritten_q[q]) rewritten_at = index_t'(q);
  end

  always_comb begin
    state_d   = state_q;
    done_o    = 1'b0;
    refused_o = 1'b0;
    unique case (state_q)
      IDLE: begin
        refused_o = s_axis_command_tvalid && !allowed;
        if (s_axis_command_tvalid && allowed) state_d = CLOSE;
      end
      CLOSE:
      if (takes) begin
        state_d = s_axis_command_tdata.arm ? DRAIN : IDLE;
        done_o  = !s_axis_command_tdata.arm;
      end
      DRAIN: begin
        done_o = takes;
        refused_o = !allowed && !takes;
        if (takes || !allowed) state_d = IDLE;
      end
      default: state_d = IDLE;
    endcase
  end

  assign s_axis_command_tready = done_o || refused_o;
  assign command_tvalid = rewrites_q || ours;
  assign command = '{
          arm: !rewrites_q && state_q == DRAIN,
          qp: rewrites_q ? 8'(rewritten_at_q) : s_axis_command_tdata.qp,
          reason: rewrites_q ? RC_REWRITTEN : RC_CLOSED,
          psn: s_axis_command_tdata.psn
      };

  always_ff @(posedge clk) begin
    state_q <= state_d;
    idle_q  <= state_q == DRAIN && allowed && is_idle && !takes;
    if (command_tready) rewrites_q <= 1'b0;
    if (rewrites) begin
      rewrites_q <= 1'b1;
      rewritten_at_q <= rewritten_at;
      rewritten_q[rewritten_at] <= 1'b0;
    end
    if (rst_q[2]) begin
      contexts_q  <= '0;
      rewritten_q <= '0;
    end
    if (qp_write_valid_i && exists(qp_write_i.index)) begin
      contexts_q[index_t'(qp_write_i.index)] <= written;
      if (contexts_q[index_t'(qp_write_i.index)] != written) rewritten_q[index_t'(qp_write_i.index)] <= 1'b1;
    end
    if (rst) begin
      state_q <= IDLE;
      idle_q <= 1'b0;
      rewrites_q <= 1'b0;
    end
  end

  // Room
  always_ff @(posedge clk) begin
    room_through_q <= !exists(room_qp_i) || !contexts_q[index_t'(room_qp_i)].rc;
  end
  assign room_o = room_rc || room_through_q;

  // Leaving: messages of the rings and those that pass through, in turn, as long as little of them is ahead.
  localparam int unsigned ISSUE_W = $bits(rc_issue_t);
  localparam int unsigned GROUP_W = 128;  // bits that one copy of the choice drives
  localparam int unsigned GROUPS = (ISSUE_W + GROUP_W - 1) / GROUP_W;

  rc_issue_t chosen, through, resumed;  // resumed: what the ring issues, without what is done of it
  logic [ISSUE_W-1:0] chosen_bits, through_bits, issue_bits;
  (* keep, dont_merge *)logic [GROUPS-1:0] through_turns_q;  // all are always equal
  logic [GROUPS-1:0] passes;
  rc_item_t item;
  rc_context_t out_context;
  logic out_tready, takes_through, answered_q;
  logic [31:0] behind_q, done;
  logic [1:0] mask, out_tvalid;

  assign through = '{
          tag: tag_i,
          rc: 1'b0,
          psn: '0,
          skip: '0,
          trailer: s_axis_trailer_tdata,
          bd: s_axis_bd_tdata
      };
  assign takes_through = passes[0];
  assign chosen = chosen_bits;

  for (genvar g = 0; g < GROUPS; g++) begin : gen_chosen
    localparam int unsigned AT = g * GROUP_W;
    localparam int unsigned WIDTH = AT + GROUP_W > ISSUE_W ? ISSUE_W - AT : GROUP_W;

    assign passes[g] = through_tvalid && wanted && (through_turns_q[g] || !issue_tvalid);
    assign chosen_bits[AT+:WIDTH] = passes[g] ? through_bits[AT+:WIDTH] : issue_bits[AT+:WIDTH];
  end

  assign through_bits = through;
  assign issue_bits = resumed;
  // What is not of RC would be taken. Apart from what is, so that this is not waited for.
  assign lets_through = wanted && (through_turns_q[0] || !issue_tvalid) && out_tready;
  assign issue_tready = !(through_tvalid && wanted && through_turns_q[0]) && out_tready;  // of one that is there
  assign out_context = contexts_q[index_t'(issue.bd.qp)];
  // A new MTU fails the QP, but finds messages here that were cut by the old one: these stay within their descriptors.
  assign done = behind_q < issue.bd.length ? behind_q : '0;

  always_ff @(posedge clk) begin
    answered_q <= ask && ask_ready;
    if (answered_q) behind_q <= 32'(answer_skip) << contexts_q[index_t'(op_qp)].mtu_log2;
    if (rst) answered_q <= 1'b0;
  end

  always_comb begin
    resumed = issue;
    resumed.bd.source = issue.bd.source + 64'(done);
    resumed.bd.destination = issue.bd.destination + 64'(done);
    resumed.bd.length = issue.bd.length - done;
    item = '{
        tag: chosen.tag,
        rc: chosen.rc,
        resume: !takes_through && issue.skip != '0 && out_context.message,
        psn: chosen.psn,
        bd: chosen.bd
    };
  end

  always_ff @(posedge clk) begin
    if (out_tready && (takes_through || issue_tvalid)) through_turns_q <= ~passes;
    if (rst) through_turns_q <= '0;
  end

  // What has been issued cannot be called back: after a NAK it leaves first, and for nothing. So no more is issued than hides the
  // latency of the memory. A long message is counted before the next one is wanted; short ones overtake their count.
  localparam int unsigned LANES_W = $clog2(DataW / 8);
  localparam int unsigned BEATS_W = 32 - LANES_W;  // of any message
  localparam int unsigned LONG_BEATS = Ahead / 8;

  if (DataW < 64 || DataW > 1024 || (DataW & (DataW - 1)) != 0) begin : gen_check_width
    $error("%m: DataW = %0d must be a power of two, 64 to 1024", DataW);
  end
  if (Ahead < 8 || Ahead > 65536) begin : gen_check_ahead
    $error("%m: Ahead = %0d must be 8 to 65536", Ahead);
  end

  logic [BEATS_W-1:0] beats_q;
  logic [BEATS_W:0] ahead_q;  // below zero, as what overtook its count: as much as there can be
  logic rest_q, beat_q, issues;

  assign issues = (takes_through || issue_tvalid) && out_tready;
  assign wanted = ahead_q < (BEATS_W + 1)'(Ahead) && beats_q < BEATS_W'(LONG_BEATS) &&
      (!issue_tvalid || issue.bd.length < 32'(LONG_BEATS * DataW / 8));

  always_ff @(posedge clk) begin
    beat_q  <= beat_i;
    beats_q <= issues ? item.bd.length[31:LANES_W] : '0;
    rest_q  <= issues && (takes_through ? s_axis_bd_tdata.length[LANES_W-1:0] != '0 :
        resumed.bd.length[LANES_W-1:0] != '0);
    ahead_q <= ahead_q + (BEATS_W + 1)'(beats_q) + (BEATS_W + 1)'(rest_q) - (BEATS_W + 1)'(beat_q);
    if (rst_q[2]) begin
      beat_q  <= 1'b0;
      beats_q <= '0;
      rest_q  <= 1'b0;
      ahead_q <= '0;
    end
  end

  assign mask = {chosen.bd.last, 1'b1};

  axis_fork #(
      .DataW($bits(trailer_t) + $bits(rc_item_t)),
      .Sinks(2)
  ) u_fork (
      .clk,
      .rst,
      .s_axis_tdata ({chosen.trailer, item}),
      .s_axis_tuser (mask),
      .s_axis_tvalid(takes_through || issue_tvalid),
      .s_axis_tready(out_tready),
      .m_axis_tdata ({m_axis_trailer_tdata, m_axis_item_tdata}),
      .m_axis_tvalid(out_tvalid),
      .m_axis_tready({m_axis_trailer_tready, m_axis_item_tready})
  );

  assign {m_axis_trailer_tvalid, m_axis_item_tvalid} = out_tvalid;
  assign issued_o = issued != '0;
  assign idle_o = drained == '1 && under_way == '0 && issued == '0 && out_tvalid == '0 && !s_axis_bd_tvalid &&
      !m_axis_retired_tvalid;

  logic unused;
  assign unused = ^{qp_write_i, limits_qp, s_axis_command_tdata.reason, chosen.skip, in_context, out_context};

`ifndef SYNTHESIS
  logic [7:0] quiet_q = '0;  // cycles without anything under way
  always @(posedge clk) begin
    quiet_q <= rst || !idle_o || issues || beat_i ? '0 : quiet_q + 8'(!quiet_q[7]);
    assert (rst || !quiet_q[7] || ahead_q == '0)
    else $error("%m: %0d beats were counted that did not leave", $signed(ahead_q));
  end
`endif

endmodule
