// roce_segment turns every message into its packets, in order. One QP is followed, any: its PSNs have no gap. And one
// message is followed, any: if it is of that QP, its packets are what packet_of() makes of it and what is left of it.
module roce_segment_formal
  import roce_pkg::*;
#(
    parameter bit EveryCycle = 1'b1
) (
    input logic clk,
    input logic rst,

    input message_t s_axis_msg_tdata,
    input logic     s_axis_msg_tvalid,
    input logic     s_axis_msg_tready,

    input logic     [ 7:0] index_o,
    input context_t        context_i,
    input logic     [ 7:0] psn_index_o,
    input logic     [23:0] psn_i,
    input logic            psn_write_o,
    input logic     [ 7:0] psn_write_index_o,
    input logic     [23:0] psn_o,

    input packet_t m_axis_pkt_tdata,
    input logic    m_axis_pkt_tvalid,
    input logic    m_axis_pkt_tready,

    // What is inside: in the skid buffer, looked up, counted, and one packet
    input message_t        skid_q,
    input logic            skid_valid_q,
    input logic            in_step,  // the copies of the control are equal
    input message_t        look_q,
    input logic            look_valid_q,
    input context_t        context_q,
    input logic     [32:0] extent_q,
    input logic     [ 9:0] words_q,
    input logic     [ 4:0] mtu_is_q,
    input logic     [ 4:0] single_q,
    input logic     [ 4:0] full_q,
    input logic     [ 4:0] full_words_q,
    input logic     [ 7:0] index_q,
    input logic            valid_q,
    input logic            replay_q,
    input logic            resume_q,
    input logic            imm_valid_q,
    input logic     [31:0] imm_q,
    input logic     [31:0] message_bytes_q,
    input logic     [63:0] address_q,
    input context_t        qp_q,
    input status_e         status_q,
    input logic            first_q,
    input logic            last_q,
    input logic     [23:0] more_q,
    input logic     [12:0] mtu_q,
    input logic     [12:0] tail_q,
    input logic     [10:0] tail_words_q,
    input logic     [23:0] psn_q
);

  reset_rule u_reset (.*);

  hold_rule #(
      .DataW ($bits(message_t)),
      .Assume(1'b1)
  ) u_source (
      .clk,
      .rst,
      .tdata_i (s_axis_msg_tdata),
      .tvalid_i(s_axis_msg_tvalid),
      .tready_i(s_axis_msg_tready)
  );

  hold_rule #(
      .DataW($bits(packet_t))
  ) u_hold (
      .clk,
      .rst,
      .tdata_i (m_axis_pkt_tdata),
      .tvalid_i(m_axis_pkt_tvalid),
      .tready_i(m_axis_pkt_tready)
  );

  // The QP: its context is constant, its PSN is kept by the table.
  logic [7:0] any_index;
  context_t any_qp;
  logic [23:0] table_q, table_d;
  logic wrote_q;  // a PSN, in the cycle before
  logic [7:0] index_was_q;

  assign table_d = psn_write_o && psn_write_index_o == any_index ? psn_o : table_q;

  always_ff @(posedge clk) begin
    any_index <= any_index;
    any_qp <= any_qp;
    table_q <= table_d;
    wrote_q <= psn_write_o && !rst;
    index_was_q <= index_o;
  end

  function automatic logic in_range(input context_t qp);
    return !qp.enabled || (qp.mtu_log2 >= MTU_LOG2_MIN && qp.mtu_log2 <= MTU_LOG2_MAX);
  endfunction

  always_comb begin
    assume (in_range(any_qp));
    assume (index_o != any_index || context_i == any_qp);
    assume (in_range(context_i));
    // In the cycle behind a write, of the QP only that was looked up with it (roce_qp).
    assume (psn_index_o != any_index || (wrote_q && index_was_q != psn_index_o) || psn_i == table_q);
  end

  // The specification: a message's next packet, by the bytes left of it, and their address. Its PSN is left out.
  function automatic packet_t packet_of(input message_t message, input logic first, input logic [31:0] left,
                                        input logic [63:0] address);
    packet_t pkt;
    logic [31:0] mtu;
    logic only;
    mtu = 32'd1 << any_qp.mtu_log2;
    only = any_qp.segmentation == ONLY;
    pkt = '0;
    pkt.index = message.qp;
    pkt.ends = left <= mtu;
    pkt.length = 13'(pkt.ends ? left : mtu);
    pkt.has_reth = only || first;
    pkt.has_imm = pkt.ends && message.imm_valid;
    pkt.imm = message.imm;
    pkt.reth.address = address;
    pkt.reth.rkey = any_qp.rkey;
    pkt.reth.length = only ? 32'(pkt.length) : message.length;
    pkt.opcode = pkt.ends ? OP_WRITE_LAST : OP_WRITE_MIDDLE;
    if (first) pkt.opcode = pkt.ends ? OP_WRITE_ONLY : OP_WRITE_FIRST;
    if (only) pkt.opcode = OP_WRITE_ONLY;
    if (pkt.has_imm) pkt.opcode |= OP_WITH_IMM;
    if (any_qp.service == UC) pkt.opcode |= OP_UC;
    if (message.length == '0 || message.length > MESSAGE_BYTES_MAX) pkt.status = BAD_LENGTH;
    if (!any_qp.enabled) pkt.status = BAD_QP;
    if (pkt.status != OK) begin
      pkt.ends   = 1'b1;
      pkt.length = 13'(message.length != '0);
    end
    return known(pkt);
  endfunction

  // The fields that packet_of() knows and that count: of a refused message no more than its status and what is dropped.
  function automatic packet_t known(input packet_t pkt);
    packet_t part;
    part = '0;
    part.index = pkt.index;
    part.status = pkt.status;
    part.ends = pkt.ends;
    part.length = pkt.length;
    if (pkt.status == OK) begin
      part.opcode   = pkt.opcode;
      part.has_reth = pkt.has_reth;
      part.has_imm  = pkt.has_imm;
      if (pkt.has_imm) part.imm = pkt.imm;
      if (pkt.has_reth) part.reth = pkt.reth;
    end
    return part;
  endfunction

  // Messages are numbered modulo 8, and `place` is how many are before the one that is followed. Of that one `left_q`
  // bytes are not sent, and go to `address_nq`. `psn_nq` is the PSN of the QP's next packet.
  logic [2:0] any_number, accepted_q, ended_q, place, count;
  message_t message;
  logic begun_q, replayed_q;
  logic [31:0] left_q;
  logic [63:0] address_nq;
  logic [23:0] psn_nq, psn_before_q;
  logic accept, send, takes_psn;
  packet_t offer;

  assign offer = m_axis_pkt_tdata;
  assign accept = s_axis_msg_tvalid && s_axis_msg_tready;
  assign send = m_axis_pkt_tvalid && m_axis_pkt_tready;
  assign place = any_number - ended_q;
  assign takes_psn = m_axis_pkt_tvalid && own(offer.index, offer.status, replayed_q);

  always_ff @(posedge clk) begin
    any_number <= any_number;
    if (accept && accepted_q == any_number) begin
      message <= s_axis_msg_tdata;
      begun_q <= 1'b0;
      left_q <= s_axis_msg_tdata.length;
      address_nq <= s_axis_msg_tdata.address;
    end else if (send && place == '0) begin
      begun_q <= 1'b1;
      left_q <= left_q - 32'(offer.length);
      address_nq <= address_nq + 64'(offer.length);
    end
    if (send) psn_before_q <= offer.psn;
    accepted_q <= accepted_q + 3'(accept);
    ended_q <= ended_q + 3'(send && offer.ends);
    if (send && takes_psn) psn_nq <= psn_nq + 1'b1;
    if (send || !m_axis_pkt_tvalid) replayed_q <= replay_q;
    if (rst) begin
      accepted_q <= '0;
      ended_q <= '0;
      psn_nq <= table_d;
    end
  end

  // A packet takes the QP's next PSN.
  function automatic logic own(input logic [7:0] index, input status_e status, input logic replay);
    return index == any_index && status == OK && !replay;
  endfunction

  // UDP's 8 bytes, BTH's 12 and 4 of the ICRC, with RETH, ImmDt, payload and pad.
  logic [12:0] udp_length;
  assign udp_length = 13'd24 + (offer.has_reth ? 13'd16 : '0) + (offer.has_imm ? 13'd4 : '0) +
      ((offer.length + 13'd3) & ~13'd3);

  // Where the message is. A packet that does not end its message has the rest of it behind itself, in the counter.
  logic [2:0] before_count, before_look, before_skid;
  logic followed, in_packet, in_count, in_look, in_skid;
  logic rest;  // the counter has the rest of the packet's message
  logic [23:0] psn_behind;  // the QP's PSN behind the packet

  assign before_count = 3'(m_axis_pkt_tvalid && offer.ends);
  assign before_look = before_count + 3'(valid_q);
  assign before_skid = before_look + 3'(look_valid_q);
  assign count = before_skid + 3'(skid_valid_q);
  assign followed = message.qp == any_index;
  assign in_packet = followed && m_axis_pkt_tvalid && place == '0;
  assign in_count = followed && valid_q && place == before_count;
  assign in_look = followed && look_valid_q && place == before_look;
  assign in_skid = followed && skid_valid_q && place == before_skid;
  assign rest = m_axis_pkt_tvalid && !offer.ends;
  assign psn_behind = takes_psn ? offer.psn + 1'b1 : psn_nq;

  logic [1:0] wait_q;  // cycles without a packet

  always_ff @(posedge clk) wait_q <= rst || m_axis_pkt_tvalid || accepted_q == ended_q ? '0 : wait_q + 1'b1;

  always_comb begin
    if (!rst) begin
      if (m_axis_pkt_tvalid) begin
        a_some : assert (accepted_q != ended_q);
        if (takes_psn) a_psn : assert (offer.psn == psn_nq);
      end else begin
        a_soon : assert (accepted_q == ended_q || wait_q < 2'd2);
      end
      if (in_packet) begin
        a_packet : assert (known(offer) == packet_of(message, !begun_q && !message.resume, left_q, address_nq));
        if (offer.status == OK) a_udp : assert (offer.udp_length == udp_length);
        if (offer.status == OK && begun_q) a_step : assert (offer.psn == psn_before_q + 1'b1);
        if (offer.status == OK && !begun_q && message.replay) a_replay : assert (offer.psn == message.psn);
      end
    end
  end

  // What the induction needs.
  logic [31:0] left;  // bytes of the message from the counter's packet on, and the offset of the last of them
  logic [35:0] extent;
  assign left = left_q - (rest ? 32'(offer.length) : '0);
  always_comb begin
    extent = '0;
    for (int unsigned log2 = 32'(MTU_LOG2_MIN); log2 <= 32'(MTU_LOG2_MAX); log2++) begin
      if (any_qp.mtu_log2 == 4'(log2)) extent = (36'(more_q) << log2) | 36'(tail_q - 1'b1);
    end
  end

  logic right_mtus;
  always_comb begin
    right_mtus = 1'b1;
    for (int unsigned k = 0; k < 5; k++) begin
      if (mtu_is_q[k] != (context_q.mtu_log2 == MTU_LOG2_MIN + 4'(k)) ||
          (look_q.length != '0 && single_q[k] != (look_q.length <= 32'd256 << k)) ||
          full_q[k] != ((look_q.length & (32'd256 << k) - 1) == '0) ||
          full_words_q[k] != (((look_q.length[12:0] + 13'd3) & ~13'd3 & 13'((32'd256 << k) - 1)) == '0)) begin
        right_mtus = 1'b0;
      end
    end
  end

  always_comb begin
    if (!rst) begin
      if (wrote_q && look_valid_q) a_asks : assert (psn_index_o == index_was_q);

      i_step : assert (in_step);
      i_count : assert (count == accepted_q - ended_q);
      i_wait : assert (m_axis_pkt_tvalid ? wait_q <= 2'd2 : wait_q <= 2'(valid_q));
      i_filled : assert (look_valid_q || !skid_valid_q || (!EveryCycle && valid_q));
      i_table : assert (valid_q && own(index_q, status_q, replay_q) ? psn_q == psn_behind : table_q == psn_behind);
      i_rest :
      assert (!rest || (valid_q && status_q == OK && offer.status == OK && index_q == offer.index &&
          replay_q == replayed_q && psn_q == offer.psn + 1'b1));
      i_first : assert (!valid_q || first_q == !rest);
      i_last : assert (!valid_q || last_q == (status_q != OK || more_q == '0));
      if (look_valid_q) begin
        i_looked : assert (extent_q == 33'(look_q.length) - 1'b1 && (look_q.qp != any_index || context_q == any_qp));
        i_words : assert (words_q == 10'((look_q.length[11:0] + 12'd3) >> 2));
        i_mtus : assert (right_mtus && in_range(context_q));
      end
      if (in_skid || in_look) i_whole : assert (!begun_q && left_q == message.length && address_nq == message.address);
      if (in_skid) i_skid : assert (skid_q == message);
      if (in_look) i_look : assert (look_q == message);
      if (in_count) begin
        i_counted :
        assert (index_q == message.qp && replay_q == message.replay && resume_q == message.resume &&
            imm_valid_q == message.imm_valid && imm_q == message.imm && message_bytes_q == message.length &&
            qp_q == any_qp);
        if (any_qp.enabled && message.length != '0 && message.length <= MESSAGE_BYTES_MAX) begin
          i_ok : assert (status_q == OK && mtu_q == 13'd1 << any_qp.mtu_log2);
          i_left : assert (tail_q != '0 && tail_q <= mtu_q && left != '0 && extent == 36'(left) - 1'b1);
          i_padded : assert (tail_words_q == 11'((tail_q + 13'd3) >> 2));
          i_begun : assert (rest || !begun_q);
          i_address : assert (address_q == address_nq + (rest ? 64'(offer.length) : '0));
          i_replays : assert (!message.replay || !first_q || psn_q == message.psn);
        end else begin
          i_refused : assert (status_q == (any_qp.enabled ? BAD_LENGTH : BAD_QP));
          i_dropped : assert (tail_q == 13'(message.length != '0));
        end
      end
    end
  end

endmodule

bind roce_segment roce_segment_formal #(
    .EveryCycle(EveryCycle)
) u_formal (
    .skid_q(u_skid.skid_q),
    .skid_valid_q(u_skid.skid_valid_q),
    .look_valid_q(look_valid_q[0]),
    .valid_q(valid_q[0]),
    .in_step((u_skid.skid_valids_q == '0 || &u_skid.skid_valids_q) && (look_valid_q == '0 || &look_valid_q) &&
        (valid_q == '0 || &valid_q) && (pkt_valid_q == '0 || &pkt_valid_q)),
    .*
);
