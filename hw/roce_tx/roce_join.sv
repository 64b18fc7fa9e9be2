// Appends payload to headers: header bytes, payload bytes, zeros up to a multiple of four bytes of payload. No ICRC yet.
// The payload of a message is one packet on its stream; each packet but the last takes whole beats of it. Where that stream
// is shorter than its message, the packet that lacks bytes ends in zeros, poisoned, and those behind it are left out. A packet
// with a beat that is marked as wrong is poisoned, and those behind it go on.
// Every GroupW bits of lanes have their own register slice and their own copy of what chooses them, so that none drives more; all
// copies are always equal.
module roce_join
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned GroupW = 64,  // a power of two, 64 or more, no wider than the bus

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input  logic         [DataW-1:0] s_axis_hdr_tdata,
    input  logic         [KeepW-1:0] s_axis_hdr_tkeep,
    input  logic                     s_axis_hdr_tlast,
    input  header_user_t             s_axis_hdr_tuser,
    input  logic                     s_axis_hdr_tvalid,
    output logic                     s_axis_hdr_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,   // bytes of this beat are wrong
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic         [DataW-1:0] m_axis_tdata,
    output logic         [KeepW-1:0] m_axis_tkeep,
    output logic                     m_axis_tlast,
    output packet_user_t             m_axis_tuser,
    output logic                     m_axis_tvalid,
    input  logic                     m_axis_tready,

    // Token buckets: that of the QP whose header waits, and the bytes on the line of a packet that starts
    output logic [ 7:0] bucket_index_o,
    input  logic        bucket_open_i,
    output logic        spend_o,
    output logic [12:0] spend_bytes_o,

    // One pulse a message, in their order: all of its payload is taken
    output logic       status_valid_o,
    output status_e    status_o,
    output logic [7:0] status_qp_o
);

  localparam int unsigned LANE_W = $clog2(KeepW);
  localparam int unsigned GROUPS = DataW / GroupW;
  localparam bit LATER = header_bytes(1'b0, 0) >= KeepW;  // a header has several beats, and its first says what counts
  localparam logic [2:0] LOOK = 3'd4;  // cycles until a bucket knows of the packet before

  typedef enum logic [1:0] {
    HEADER,   // passes header beats; the last, partial one takes the first payload bytes with it. Or drops them
    PAYLOAD,  // takes a payload beat for each beat out
    FLUSH,    // takes none: what is left of the last beat, or zeros where payload is missing
    DISCARD   // drops the rest of the message's payload
  } state_e;

  state_e state_q, state_d;

  // Header lanes in the last header beat: where the payload starts.
  function automatic int unsigned start_lane(input logic reth, input int unsigned words);
    return header_bytes(reth, words) % KeepW;
  endfunction

  header_user_t user, user_q;
  logic refused, dropped, may_start, merge, take;
  logic [12:0] left, left_q;  // bytes still to be sent, this beat's included
  logic one_left, one_left_q;  // left < KeepW, and never equal: headers end 2 bytes behind a word
  logic [12:0] unread, unread_q;  // payload bytes not yet taken, this beat's included
  logic all_read, all_read_d, all_read_q;  // unread <= KeepW
  logic valid, last, ready, go, opens;
  logic [GROUPS-1:0] readies;

  assign user = state_q == HEADER && !LATER ? s_axis_hdr_tuser : user_q;  // with a packet's last beat, and its header's
  assign refused = s_axis_hdr_tuser.refused;  // with its header: behind it nothing of it is sent
  assign merge = state_q == HEADER && s_axis_hdr_tlast;
  assign take = (merge && !dropped) || state_q == PAYLOAD;  // this beat needs a payload beat

  assign opens = LATER && state_q == HEADER && s_axis_hdr_tvalid && !s_axis_hdr_tlast;
  assign left = merge && !LATER ? s_axis_hdr_tuser.left : left_q;
  assign one_left = merge && !LATER ? s_axis_hdr_tuser.one_left : one_left_q;
  assign unread = merge && !LATER ? s_axis_hdr_tuser.length : unread_q;
  assign all_read = merge && !LATER ? s_axis_hdr_tuser.one_read : all_read_q;
  assign all_read_d = unread[12:LANE_W] == (13 - LANE_W)'(1) || unread == 13'(2 * KeepW);
  assign last = (state_q != HEADER || merge) && one_left;

  always_comb begin
    unique case (state_q)
      HEADER:  valid = s_axis_hdr_tvalid && !dropped && may_start && (!s_axis_hdr_tlast || s_axis_payload_tvalid);
      PAYLOAD: valid = s_axis_payload_tvalid;
      FLUSH:   valid = 1'b1;
      default: valid = 1'b0;
    endcase
  end

  assign go = valid && ready;
  // Whether there is a header is not asked: its source waits for this.
  assign s_axis_hdr_tready = state_q == HEADER &&
      (dropped || (may_start && ready && (!s_axis_hdr_tlast || s_axis_payload_tvalid)));
  assign s_axis_payload_tready = (take && go) || state_q == DISCARD;

  // A packet of a limited QP starts when its bucket knows of the packet before, and is open. Its first header beat waits here, also
  // while the packet before is still passing. What is dropped neither waits nor pays.
  logic first_q, open_q;
  logic [2:0] waited_q;

  assign may_start = !first_q || !s_axis_hdr_tuser.limited || open_q;
  assign bucket_index_o = s_axis_hdr_tuser.index;
  assign spend_o = go && state_q == HEADER && first_q && s_axis_hdr_tuser.limited;
  assign spend_bytes_o = s_axis_hdr_tuser.line_bytes;

  always_ff @(posedge clk) begin
    if (!s_axis_hdr_tvalid || s_axis_hdr_tready) begin
      waited_q <= '0;
      open_q   <= 1'b0;
    end else begin
      if (waited_q != LOOK) waited_q <= waited_q + 1'b1;
      if (waited_q == LOOK && bucket_open_i) open_q <= 1'b1;
    end
    if (s_axis_hdr_tvalid && s_axis_hdr_tready) first_q <= s_axis_hdr_tlast;
    if (rst) begin
      waited_q <= '0;
      open_q   <= 1'b0;
      first_q  <= 1'b1;
    end
  end

  logic unused;
  assign unused = ^{user, user_q};

  // Lanes of the last beat of payload that hold some of it, by the bytes behind whole beats.
  function automatic logic [KeepW-1:0] last_lanes(input logic [LANE_W-1:0] rest);
    for (int unsigned k = 0; k < KeepW; k++) last_lanes[k] = LANE_W'(k) < rest || rest == '0;
  endfunction

  // Whether the payload is what the message says. Only the last beat of a stream may be partial.
  logic [KeepW-1:0] wanted;  // lanes of this beat that must hold payload
  logic missing, beyond, ended, ended_q, too_short, too_short_q, too_long, too_long_q, bad, bad_q, poisoned, poisoned_q;
  logic packet_end, message_end;

  // A header of several beats says it early enough for a register.
  if (LATER) begin : gen_wanted_before
    logic [KeepW-1:0] wanted_q;

    always_ff @(posedge clk) begin
      if (opens) wanted_q <= last_lanes(s_axis_hdr_tuser.length[LANE_W-1:0]) | {KeepW{!s_axis_hdr_tuser.one_read}};
      else if (go) wanted_q <= last_lanes(user_q.length[LANE_W-1:0]) | {KeepW{!all_read_d}};
    end

    assign wanted = wanted_q;
  end else begin : gen_wanted_now
    assign wanted = last_lanes(user.length[LANE_W-1:0]) | {KeepW{!all_read}};
  end

  assign missing = (wanted & ~s_axis_payload_tkeep) != '0;
  assign beyond = (~wanted & s_axis_payload_tkeep) != '0;

  assign ended = ended_q || (take && s_axis_payload_tlast);
  assign too_short = too_short_q || (take && (missing || (s_axis_payload_tlast && !(all_read && user.ends))));
  assign too_long = too_long_q || (take && all_read && user.ends && (beyond || !s_axis_payload_tlast));
  assign bad = bad_q || (take && s_axis_payload_tuser);
  assign poisoned = poisoned_q || (take && (missing || s_axis_payload_tuser || (s_axis_payload_tlast && !all_read)));
  assign dropped = refused || too_short_q;

  assign packet_end = (go && last) || (merge && s_axis_hdr_tvalid && dropped);
  assign message_end = state_q == DISCARD ? s_axis_payload_tvalid && s_axis_payload_tlast : packet_end &&
      user.ends && (state_q == HEADER && refused ? s_axis_hdr_tuser.length == '0 : ended);

  always_comb begin
    state_d = state_q;
    if (message_end) state_d = HEADER;
    else if (packet_end) state_d = user.ends ? DISCARD : HEADER;
    else if (go && (take || state_q == FLUSH)) state_d = all_read || too_short ? FLUSH : PAYLOAD;
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    if (state_q == HEADER && s_axis_hdr_tvalid) user_q <= s_axis_hdr_tuser;
    if (opens) begin
      left_q <= s_axis_hdr_tuser.left;
      one_left_q <= s_axis_hdr_tuser.one_left;
      unread_q <= s_axis_hdr_tuser.length;
      all_read_q <= s_axis_hdr_tuser.one_read;
    end else if (go) begin
      left_q <= left - 13'(KeepW);
      one_left_q <= left[12:LANE_W] == (13 - LANE_W)'(1);
      unread_q <= unread - 13'(KeepW);
      all_read_q <= all_read_d;
    end
    if (go) begin
      ended_q <= ended;
      too_short_q <= too_short;
      too_long_q <= too_long;
      bad_q <= bad;
      poisoned_q <= poisoned && !last;
    end
    if (rst || message_end) begin
      ended_q <= 1'b0;
      too_short_q <= 1'b0;
      too_long_q  <= 1'b0;
      bad_q <= 1'b0;
    end
    if (rst) begin
      state_q <= HEADER;
      poisoned_q <= 1'b0;
    end
  end

  // What the status needs, one cycle later.
  status_e given_q;
  logic was_short_q, was_long_q, was_bad_q;

  always_ff @(posedge clk) begin
    status_valid_o <= message_end;
    status_qp_o <= user.index;
    given_q <= user.status;
    was_short_q <= too_short;
    was_long_q <= too_long;
    was_bad_q <= bad;
    if (rst) status_valid_o <= 1'b0;
  end

  always_comb begin
    status_o = given_q;
    if (given_q == OK && was_short_q) status_o = SHORT;
    else if (given_q == OK && was_long_q) status_o = LONG;
    else if (given_q == OK && was_bad_q) status_o = BAD_PAYLOAD;
  end

  // Lanes. The window is this payload beat above the one before it; what a beat out shows of it starts at one of six lanes:
  // by the RETH at one of two, then up to two words below. Bytes that do not count are zeros, and become the pad.
  localparam int unsigned MARGIN = 8;  // lanes by which the words may move the view
  localparam int unsigned VIEW = KeepW + 2 * MARGIN;

  // Where it starts: of the header that is passing, or of the last one. A copy asks whether it changes: equal ones become one.
  typedef struct packed {
    logic                  reth;
    logic [WORD_KINDS-1:1] words;  // one hot; none: no word
  } start_t;

  start_t start;
  start_t [GROUPS-1:0] starts_q, starts;

  always_comb begin
    start.reth = s_axis_hdr_tuser.reth;
    for (int unsigned w = 1; w < WORD_KINDS; w++) start.words[w] = s_axis_hdr_tuser.words == 2'(w);
  end

  always_comb for (int unsigned g = 0; g < GROUPS; g++) starts[g] = state_q == HEADER && !LATER ? start : starts_q[g];

  always_ff @(posedge clk) begin
    for (int unsigned g = 0; g < GROUPS; g++) begin
      if (state_q == HEADER && s_axis_hdr_tvalid && starts_q[g] != start) starts_q[g] <= start;
    end
    if (rst) starts_q <= '0;
  end

  logic [2*KeepW-1:0][7:0] window;
  logic [2*KeepW-1:0] counts;
  logic [VIEW-1:0][7:0] view;
  logic [KeepW-1:0][7:0] previous_q, lanes;
  logic [KeepW-1:0] counts_q, is_header;

  assign counts = {{KeepW{state_q != FLUSH}} & wanted & s_axis_payload_tkeep, counts_q};
  assign window = {s_axis_payload_tdata, previous_q};
  assign is_header = state_q == HEADER ? s_axis_hdr_tkeep : '0;

  for (genvar v = 0; v < VIEW; v++) begin : gen_view
    localparam int AT = v + KeepW - MARGIN;
    localparam int WITH_RETH = AT - start_lane(1'b1, 0);
    localparam int WITHOUT = AT - start_lane(1'b0, 0);
    logic [7:0] with_reth, without;
    if (WITH_RETH >= 0 && WITH_RETH < 2 * KeepW) begin : gen_with
      assign with_reth = window[WITH_RETH] & {8{counts[WITH_RETH]}};
    end else begin : gen_no_with
      assign with_reth = '0;
    end
    if (WITHOUT >= 0 && WITHOUT < 2 * KeepW) begin : gen_without
      assign without = window[WITHOUT] & {8{counts[WITHOUT]}};
    end else begin : gen_no_without
      assign without = '0;
    end
    assign view[v] = starts[v*GROUPS/VIEW].reth ? with_reth : without;
  end

  always_comb begin
    for (int k = 0; k < KeepW; k++) begin
      lanes[k] = view[k+MARGIN];
      for (int w = 1; w < WORD_KINDS; w++) begin
        if (starts[8*k/GroupW].words[w]) lanes[k] = view[k+MARGIN-(start_lane(1'b0, w)-start_lane(1'b0, 0))];
      end
      if (is_header[k]) lanes[k] = s_axis_hdr_tdata[8*k+:8];
    end
  end

  logic [KeepW-1:0] keep;
  packet_user_t packet_user;
  assign keep = last ? ~(~KeepW'(0) << left[LANE_W-1:0]) : '1;
  assign packet_user = '{
          poisoned: poisoned,
          has_vlan: state_q == HEADER ? s_axis_hdr_tuser.has_vlan : user_q.has_vlan
      };

  axis_reg #(
      .DataW(KeepW + 1 + $bits(packet_user_t))
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({packet_user, last, keep}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep}),
      .m_axis_tvalid,
      .m_axis_tready
  );

  for (genvar g = 0; g < GROUPS; g++) begin : gen_group
    localparam int unsigned LANES = GroupW / 8;
    localparam int unsigned AT = g * LANES;
    logic unused_valid;

    always_ff @(posedge clk) begin
      if (valid && readies[g]) begin
        previous_q[AT+:LANES] <= s_axis_payload_tdata[AT*8+:GroupW];
        counts_q[AT+:LANES]   <= counts[KeepW+AT+:LANES];
      end
    end

    axis_reg #(
        .DataW (GroupW),
        .GroupW(GroupW)
    ) u_lanes (
        .clk,
        .rst,
        .s_axis_tdata (lanes[AT+:LANES]),
        .s_axis_tvalid(valid),
        .s_axis_tready(readies[g]),
        .m_axis_tdata (m_axis_tdata[AT*8+:GroupW]),
        .m_axis_tvalid(unused_valid),
        .m_axis_tready
    );
  end

endmodule
