// roce_join makes whole packets of headers and payload: header, payload, zeros up to a word. One payload byte of each
// packet is followed, any. `done` counts a packet's bytes, `have` those of its payload that were taken. There is one group of
// lanes: what others have is a copy.
module roce_join_formal
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 64,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned LaneW  = $clog2(KeepW),
    localparam bit          LATER  = header_bytes(1'b0, 0) >= KeepW,
    localparam int unsigned BeatW  = DataW + KeepW + 1 + $bits(packet_user_t),
    localparam int unsigned ShownW = 8 + 1 + 1 + $bits(packet_user_t)
) (
    input logic clk,
    input logic rst,

    input logic         [DataW-1:0] s_axis_hdr_tdata,
    input logic         [KeepW-1:0] s_axis_hdr_tkeep,
    input logic                     s_axis_hdr_tlast,
    input header_user_t             s_axis_hdr_tuser,
    input logic                     s_axis_hdr_tvalid,
    input logic                     s_axis_hdr_tready,

    input logic [DataW-1:0] s_axis_payload_tdata,
    input logic [KeepW-1:0] s_axis_payload_tkeep,
    input logic             s_axis_payload_tlast,
    input logic             s_axis_payload_tuser,
    input logic             s_axis_payload_tvalid,
    input logic             s_axis_payload_tready,

    input logic         [DataW-1:0] m_axis_tdata,
    input logic         [KeepW-1:0] m_axis_tkeep,
    input logic                     m_axis_tlast,
    input packet_user_t             m_axis_tuser,
    input logic                     m_axis_tvalid,
    input logic                     m_axis_tready,

    input logic [ 7:0] bucket_index_o,
    input logic        bucket_open_i,
    input logic        spend_o,
    input logic [12:0] spend_bytes_o,

    input logic          status_valid_o,
    input status_e       status_o,
    input logic    [7:0] status_qp_o,

    // Inside: what goes to the output register, and the state
    input logic                          valid,
    input logic                          ready,
    input logic                          last,
    input logic         [KeepW-1:0]      keep,
    input logic         [KeepW-1:0][7:0] lanes,
    input packet_user_t                  packet_user,
    input logic                          in_header,
    input logic                          in_payload,
    input logic                          in_flush,
    input logic                          in_discard,
    input logic                          first_q,
    input logic         [      2:0]      waited_q,
    input logic                          open_q,
    input header_user_t                  user_q,
    input logic         [     12:0]      left_q,
    input logic                          one_left_q,
    input logic         [     12:0]      unread_q,
    input logic                          all_read_q,
    input logic         [KeepW-1:0]      wanted,
    input logic                          ended_q,
    input logic                          too_short_q,
    input logic                          too_long_q,
    input logic                          bad_q,
    input logic                          poisoned_q,
    input logic         [KeepW-1:0][7:0] previous_q,
    input logic         [KeepW-1:0]      counts_q,
    input logic         [BeatW-1:0]      data_q,
    input logic         [BeatW-1:0]      skid_q,
    input logic                          valid_q,
    input logic                          skid_valid_q,
    input logic                          in_step  // the copies of u_reg's control are equal
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW (DataW + KeepW + 1 + $bits(header_user_t)),
      .Assume(1'b1)
  ) u_header (
      .clk,
      .rst,
      .tdata_i ({s_axis_hdr_tuser, s_axis_hdr_tlast, s_axis_hdr_tkeep, s_axis_hdr_tdata}),
      .tvalid_i(s_axis_hdr_tvalid),
      .tready_i(s_axis_hdr_tready)
  );

  hold_rule #(
      .DataW (DataW + KeepW + 2),
      .Assume(1'b1)
  ) u_payload (
      .clk,
      .rst,
      .tdata_i ({s_axis_payload_tuser, s_axis_payload_tlast, s_axis_payload_tkeep, s_axis_payload_tdata}),
      .tvalid_i(s_axis_payload_tvalid),
      .tready_i(s_axis_payload_tready)
  );

  hold_rule #(
      .DataW(BeatW)
  ) u_hold (
      .clk,
      .rst,
      .tdata_i ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .tvalid_i(m_axis_tvalid),
      .tready_i(m_axis_tready)
  );

  // One lane is followed, any.
  logic push;
  logic [LaneW-1:0] any_lane;
  assign push = valid && ready;
  always_ff @(posedge clk) any_lane <= any_lane;

  logic [1:0] count;

  queue_rule #(
      .DataW(ShownW),
      .Depth(2)
  ) u_queue (
      .clk,
      .rst,
      .push_data_i(shown({packet_user, last, keep, lanes})),
      .push_i     (push),
      .pop_data_i (shown({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata})),
      .pop_i      (m_axis_tvalid && m_axis_tready),
      .count_o    (count),
      .held_i     (2'(valid_q) + 2'(skid_valid_q)),
      .items_i    ({shown(skid_q), shown(data_q)})
  );

  function automatic logic [ShownW-1:0] shown(input logic [BeatW-1:0] beat);
    return {beat[BeatW-1:DataW+KeepW], beat[DataW+32'(any_lane)], beat[8*32'(any_lane)+:8]};
  endfunction

  // The packet under way: from its first header beat to its last beat, or its last header beat where it is left out.
  typedef logic [13:0] bytes_t;

  logic opened_q, header_taken_q;  // a header beat is taken; all of them
  header_user_t opened_user_q, user;
  bytes_t header_q, done_q, have_q, have;
  bytes_t header_length, header_beats, total, length;  // header_beats: bytes before the last header beat
  logic take_header, take_payload, drop, packet_end;

  // The message under way: its payload's tlast is taken; it is too short, too long; all but its payload is done.
  logic inside_q, ended_mq, ended, short_q, short, long_q, long, drain_q, message_end;
  logic refused;

  // Payload that came with errors, of this packet, of this message.
  logic marked, spoilt_q, bad_mq;
  assign marked = take_payload && !drain_q && s_axis_payload_tuser;

  assign user = opened_q ? opened_user_q : s_axis_hdr_tuser;
  assign length = bytes_t'(user.length);
  assign header_length = 14'd54 + (user.reth ? 14'd16 : 14'd0) + {10'd0, user.words, 2'd0};
  assign header_beats = header_length & ~(bytes_t'(KeepW) - 1'b1);
  assign total = header_length + ((length + 14'd3) & ~14'd3);
  assign refused = user.status != OK;
  assign drop = refused || (short_q && done_q == '0);
  assign take_header = s_axis_hdr_tvalid && s_axis_hdr_tready;
  assign take_payload = s_axis_payload_tvalid && s_axis_payload_tready;

  always_comb begin
    have = '0;
    for (int unsigned k = 0; k < KeepW; k++) if (s_axis_payload_tkeep[k]) have = bytes_t'(k + 1);
    have = have_q + (take_payload && !drain_q ? have : '0);
  end

  assign ended = ended_mq || (take_payload && s_axis_payload_tlast);
  assign packet_end = (push && last) || (take_header && s_axis_hdr_tlast && drop);
  assign short = short_q || (!drain_q && take_payload && s_axis_payload_tlast && (have < length || !user.ends));
  assign long = long_q || (!drain_q && user.ends && (have > length || (packet_end && !ended)));
  assign message_end = (drain_q || (packet_end && user.ends)) && (ended || (refused && user.length == '0));

  always_ff @(posedge clk) begin
    if (take_header || push) opened_q <= 1'b1;
    if (!opened_q) opened_user_q <= s_axis_hdr_tuser;
    if (take_header) header_q <= header_q + bytes_t'(KeepW);
    if (take_header && s_axis_hdr_tlast) header_taken_q <= 1'b1;
    if (push) done_q <= done_q + bytes_t'(KeepW);
    have_q   <= have;
    spoilt_q <= spoilt_q || marked;
    bad_mq   <= bad_mq || marked;
    ended_mq <= ended;
    short_q  <= short;
    long_q   <= long;
    if (packet_end) inside_q <= 1'b1;
    if (packet_end && user.ends) drain_q <= 1'b1;
    if (rst || message_end) begin
      ended_mq <= 1'b0;
      short_q  <= 1'b0;
      long_q   <= 1'b0;
      inside_q <= 1'b0;
      drain_q  <= 1'b0;
      bad_mq   <= 1'b0;
    end
    if (rst || message_end || (packet_end && !user.ends)) opened_q <= 1'b0;
    if (rst || packet_end) begin
      header_taken_q <= 1'b0;
      header_q <= '0;
      done_q <= '0;
      have_q <= '0;
      spoilt_q <= 1'b0;
    end
  end

  // What roce_header and roce_segment guarantee, and the payload's source.
  logic [KeepW-1:0] header_keep;
  always_comb for (int unsigned k = 0; k < KeepW; k++) header_keep[k] = bytes_t'(k) < header_length - header_q;

  always_comb begin
    if (s_axis_hdr_tvalid) begin
      assume (!opened_q || drain_q || header_taken_q || s_axis_hdr_tuser == opened_user_q);
      if (!drain_q && !header_taken_q) begin
        assume (s_axis_hdr_tkeep == header_keep);
        assume (s_axis_hdr_tlast == (header_q + bytes_t'(KeepW) >= header_length));
        assume (user.words <= 2'd2 && user.length <= 13'd4096);
        assume (bytes_t'(user.left) == total - header_beats && user.one_left == (user.left < 13'(KeepW)));
        assume (user.one_read == (user.length <= 13'(KeepW)));
        assume (user.refused == refused);
        assume (user.status == OK || user.status == BAD_QP || user.status == BAD_LENGTH);
        if (refused)
          assume (!inside_q && user.ends && user.length <= 13'd1);
          else assume (user.length != '0 && (user.ends || user.length % 13'(KeepW) == '0));
      end
    end
    assume ((s_axis_payload_tkeep & (s_axis_payload_tkeep + 1'b1)) == '0 && s_axis_payload_tkeep[0]);
    assume (s_axis_payload_tlast || s_axis_payload_tkeep == '1);
  end

  // One payload byte of every packet, any: when it is taken, and when it is in the beat that goes out.
  bytes_t any_byte, taken_lane, lane;
  logic [7:0] byte_q, byte_now;
  logic got_q, got;

  assign taken_lane = any_byte - have_q;
  assign lane = header_length + any_byte - done_q;
  assign got = got_q || (take_payload && !drain_q && taken_lane < bytes_t'(KeepW) &&
      s_axis_payload_tkeep[LaneW'(taken_lane)]);
  assign byte_now = got_q ? byte_q : s_axis_payload_tdata[8*32'(LaneW'(taken_lane))+:8];

  always_ff @(posedge clk) begin
    any_byte <= any_byte;
    byte_q <= byte_now;
    got_q <= got && !packet_end && !rst;
  end

  logic right_header, right_keep;
  assign right_header = !s_axis_hdr_tkeep[any_lane] || lanes[any_lane] == s_axis_hdr_tdata[8*32'(any_lane)+:8];
  assign right_keep   = keep[any_lane] == (done_q + bytes_t'(any_lane) < total);

  // Tokens: a packet of a limited QP starts when its header has waited for four cycles, and its bucket was open since.
  logic [2:0] waited_mq;
  logic seen_q, waits;

  assign waits = user.limited && !seen_q && header_q == '0 && !drain_q;

  always_ff @(posedge clk) begin
    if (rst || !s_axis_hdr_tvalid || take_header) begin
      waited_mq <= '0;
      seen_q <= 1'b0;
    end else begin
      waited_mq <= waited_mq == 3'd4 ? 3'd4 : waited_mq + 1'b1;
      seen_q <= seen_q || (waited_mq == 3'd4 && bucket_open_i);
    end
  end

  // Packets.
  always_comb begin
    assume (any_byte < 14'd4100);
    if (!rst) begin
      a_header : assert (!take_header || (!header_taken_q && !drain_q && push == !drop));
      if (take_header && push) a_header_bytes : assert (right_header && done_q == header_q);
      a_payload :
      assert (!take_payload || drain_q || (push && !ended_mq && (header_taken_q || (take_header && s_axis_hdr_tlast))));
      if (push) begin
        a_push : assert (!drop && !drain_q && (header_taken_q || take_header));
        a_end : assert (last == (done_q + bytes_t'(KeepW) >= total) && right_keep);
        a_enough : assert (ended || done_q + bytes_t'(KeepW) <= header_length + have || have >= length);
        a_vlan : assert (packet_user.has_vlan == user.has_vlan);
        if (last) a_poisoned : assert (packet_user.poisoned == (have < length || spoilt_q || marked));
        if (any_byte < total - header_length && header_length + any_byte >= done_q && lane < bytes_t'(KeepW)) begin
          a_byte : assert (lanes[LaneW'(lane)] == (got && any_byte < length ? byte_now : 8'd0));
        end
      end
      a_offers : assert (m_axis_tvalid == (count != '0));
      if (s_axis_hdr_tvalid && s_axis_payload_tvalid && count != 2'd2 && !waits) begin
        a_moves : assert (take_header || take_payload || push);
      end
    end
  end

  always_comb begin
    if (!rst) begin
      a_pays : assert (spend_o == (push && take_header && header_q == '0 && user.limited));
      if (spend_o) a_price : assert (!waits && bucket_index_o == user.index && spend_bytes_o == user.line_bytes);
      if (s_axis_hdr_tvalid) a_asks : assert (bucket_index_o == s_axis_hdr_tuser.index);
    end
  end

  // Status.
  logic end_q;
  status_e status_q;
  logic [7:0] index_q;

  always_ff @(posedge clk) begin
    end_q <= message_end && !rst;
    status_q <= refused ? user.status : short ? SHORT : long ? LONG : bad_mq || marked ? BAD_PAYLOAD : OK;
    index_q <= user.index;
  end

  always_comb begin
    if (!rst) begin
      a_once : assert (status_valid_o == end_q);
      if (end_q) a_status : assert (status_o == status_q && status_qp_o == index_q);
    end
  end

  // What the induction needs.
  bytes_t slots, slot;  // payload lanes taken or filled; the followed byte's lane in the beat before
  assign slots = done_q - header_beats;
  assign slot  = any_byte - slots + bytes_t'(KeepW);

  logic [KeepW-1:0] wanted_lanes;  // of the next beat of payload
  always_comb for (int unsigned k = 0; k < KeepW; k++) begin
    wanted_lanes[k] = !all_read_q || k < 32'(length) % KeepW || 32'(length) % KeepW == 0;
  end

  always_comb begin
    if (!rst) begin
      i_step : assert (in_step);
      i_state : assert (in_discard == drain_q && (in_payload || in_flush) == header_taken_q);
      i_one : assert (2'(in_header) + 2'(header_taken_q) + 2'(drain_q) == 2'd1);
      i_tokens : assert (first_q == (header_q == '0 || header_taken_q) && waited_q == waited_mq && open_q == seen_q);
      i_flags : assert (ended_q == ended_mq && too_short_q == short_q && (!short_q || ended_mq));
      i_poison : assert (poisoned_q == (header_taken_q && ((ended_mq && have_q < length) || spoilt_q)));
      i_spoilt : assert (bad_q == bad_mq && (!spoilt_q || (header_taken_q && bad_mq)));
      if (in_header) begin
        i_fresh : assert (opened_q == (header_q != '0) && have_q == '0 && !got_q && !too_long_q && !long_q);
        i_laid :
        assert (done_q == (refused || short_q ? '0 : header_q) && header_q % bytes_t'(KeepW) == '0 &&
            (!opened_q || header_q < header_length));
        i_opened : assert (!opened_q || user_q == opened_user_q);
        if (LATER && opened_q) begin
          i_loaded : assert (left_q == user.left && one_left_q == user.one_left && unread_q == user.length);
          i_read : assert (all_read_q == user.one_read);
          i_lanes : assert (wanted == wanted_lanes);
        end
        i_over : assert (ended_mq == short_q && (!short_q || inside_q));
      end else begin
        i_user : assert (opened_q && user_q == opened_user_q && user.words <= 2'd2);
      end
      if (header_taken_q) begin
        i_length :
        assert (user.status == OK && length != '0 && length <= 14'd4096 &&
            (user.ends || length % bytes_t'(KeepW) == '0));
        i_left : assert (bytes_t'(left_q) == total - done_q && done_q < total && unread_q == 13'(length - slots));
        i_ahead : assert (one_left_q == (left_q < 13'(KeepW)));
        i_slots : assert (slots % bytes_t'(KeepW) == '0 && slots != '0 && slots <= total && have_q <= slots);
        i_beyond : assert (long_q == (have_q > length) && (user.ends || !long_q));
        i_before : assert (any_byte < slots || !got_q);
        i_long : assert (too_long_q == (long_q || (in_flush && user.ends && !ended_mq)));
        if (slot < bytes_t'(KeepW)) begin
          i_counts : assert (counts_q[LaneW'(slot)] == (got_q && any_byte < length));
          i_previous : assert (!counts_q[LaneW'(slot)] || previous_q[LaneW'(slot)] == byte_q);
        end
      end
      if (in_payload) begin
        i_paying : assert (!ended_mq && slots < length && have_q == slots);
        i_unread : assert (all_read_q == (unread_q <= 13'(KeepW)));
        i_wanted : assert (wanted == wanted_lanes);
      end
      if (in_flush) begin
        i_flushed : assert (ended_mq ? short_q == (have_q < length || !user.ends) : have_q >= length);
        i_flush : assert (short_q || left_q < 13'(KeepW));
      end
      if (drain_q) begin
        i_drained : assert (header_q == '0 && done_q == '0 && have_q == '0 && !got_q);
        i_drain : assert (!ended_mq && user.ends && (refused ? length != '0 : too_long_q && long_q));
      end
    end
  end

endmodule

bind roce_join roce_join_formal #(
    .DataW(DataW)
) u_formal (
    .in_header(state_q == HEADER),
    .in_payload(state_q == PAYLOAD),
    .in_flush(state_q == FLUSH),
    .in_discard(state_q == DISCARD),
    .data_q({u_reg.data_q, gen_group[0].u_lanes.data_q}),
    .skid_q({u_reg.skid_q, gen_group[0].u_lanes.skid_q}),
    .valid_q(u_reg.valid_q),
    .skid_valid_q(u_reg.skid_valid_q),
    .in_step((u_reg.valids_q == '0 || &u_reg.valids_q) && (u_reg.skid_valids_q == '0 || &u_reg.skid_valids_q) &&
      gen_group[0].u_lanes.valids_q[0] == u_reg.valid_q &&
      gen_group[0].u_lanes.skid_valids_q[0] == u_reg.skid_valid_q &&
      ((state_q == HEADER && first_q) ||
       (starts_q[0].reth == user_q.reth && starts_q[0].words == {user_q.words == 2'd2, user_q.words == 2'd1}))),
    .*
);
