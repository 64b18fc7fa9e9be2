// Cuts messages into packets: opcode, PSN, lengths and RETH of each, one packet a cycle.
// A message that cannot be served passes as one packet with its status: no header follows from it, its payload is dropped.
//
//   message -> look up its QP -> count its packets -> one packet
//
// The stages have their control three times, so that none drives all of their registers; all copies are always equal.
module roce_segment
  import roce_pkg::*;
#(
    // A message may be taken in every cycle; else in every second, and what is ready in front does not depend on what is behind
    parameter bit EveryCycle = 1'b1
) (
    input logic clk,
    input logic rst,

    input  message_t s_axis_msg_tdata,
    input  logic     s_axis_msg_tvalid,
    output logic     s_axis_msg_tready,

    // QP table: the context of a message's QP, its next PSN, the PSN after the message
    output logic     [ 7:0] index_o,
    input  context_t        context_i,
    output logic     [ 7:0] psn_index_o,
    input  logic     [23:0] psn_i,
    output logic            psn_write_o,
    output logic     [ 7:0] psn_write_index_o,
    output logic     [23:0] psn_o,

    output packet_t m_axis_pkt_tdata,
    output logic    m_axis_pkt_tvalid,
    input  logic    m_axis_pkt_tready
);

  // What udp_length counts beside payload and pad is whole words too.
  localparam int unsigned UDP_WORDS = (($bits(udp_t) + $bits(bth_t)) / 8 + ICRC_BYTES) / 4;  // without RETH and ImmDt
  localparam int unsigned RETH_WORDS = RETH_BYTES / 4;
  localparam int unsigned IMM_WORDS = IMM_BYTES / 4;
  localparam int unsigned MTUS = 32'(MTU_LOG2_MAX - MTU_LOG2_MIN) + 1;
  localparam int unsigned LOG2 = 32'(MTU_LOG2_MIN);  // of the least

  localparam int unsigned COPIES = 3;
  logic [COPIES-1:0] look_ready, count_ready, packet_ready;

  message_t message;
  logic message_valid;

  axis_skid #(
      .DataW($bits(message_t))
  ) u_skid (
      .clk,
      .rst,
      .s_axis_tdata (s_axis_msg_tdata),
      .s_axis_tvalid(s_axis_msg_tvalid),
      .s_axis_tready(s_axis_msg_tready),
      .m_axis_tdata (message),
      .m_axis_tvalid(message_valid),
      .m_axis_tready(look_ready[0])
  );

  // Look up: the message beside its QP, and what its length is to each path MTU. `extent` is the offset of its last byte,
  // with the borrow of an empty one; `words` its length in words of 4 bytes.
  (* keep, dont_merge *)logic [COPIES-1:0] look_valid_q;
  message_t look_q;
  context_t context_q;
  logic [32:0] extent_q;
  logic [9:0] words_q;
  logic [MTUS-1:0] mtu_is_q;  // one hot
  logic [MTUS-1:0] single_q;  // one packet holds it
  logic [MTUS-1:0] full_q;  // its last packet holds as many bytes as an MTU
  logic [MTUS-1:0] full_words_q;  // as many words

  assign index_o = message.qp;
  assign look_ready = EveryCycle ? ~look_valid_q | count_ready : ~look_valid_q;

  always_ff @(posedge clk) begin
    for (int unsigned c = 0; c < COPIES; c++) begin
      if (look_ready[c]) look_valid_q[c] <= message_valid;
      else if (!EveryCycle && count_ready[c]) look_valid_q[c] <= 1'b0;
    end
    if (look_ready[1]) context_q.path <= context_i.path;
    if (look_ready[2]) context_q[$bits(context_t)-1:$bits(path_t)] <= context_i[$bits(context_t)-1:$bits(path_t)];
    if (look_ready[0]) begin
      look_q <= message;
      extent_q <= {1'b0, message.length} - 1'b1;
      words_q <= 10'((message.length[11:0] + 12'd3) >> 2);
      for (int unsigned k = 0; k < MTUS; k++) begin
        mtu_is_q[k] <= context_i.mtu_log2 == 4'(LOG2 + k);
        single_q[k] <= message.length >> (LOG2 + k) == '0 ||
            (message.length >> (LOG2 + k + 1) == '0 && below(message.length, LOG2 + k) == '0);
        full_q[k] <= below(message.length, LOG2 + k) == '0;
        full_words_q[k] <= below(message.length, LOG2 + k) == '0 ||
            (below(~message.length, LOG2 + k) >> 2 == '0 && message.length[1:0] != '0);
      end
    end
    if (rst) look_valid_q <= '0;
  end

  // The bits of a length below an MTU's own.
  function automatic logic [31:0] below(input logic [31:0] length, input int unsigned log2);
    return length & ((32'd1 << log2) - 1);
  endfunction

  // Count: the message under way. Its address, PSN and `more`, the packets behind this one, move on with every packet.
  (* keep, dont_merge *)logic [COPIES-1:0] valid_q;
  logic first_q, last_q, replay_q, resume_q, imm_valid_q;
  logic [7:0] index_q;
  logic [31:0] imm_q, message_bytes_q;
  logic [63:0] address_q;
  context_t qp_q;
  status_e status, status_q;
  logic refused;
  logic [23:0] more, more_q, psn_q, psn_next, first_psn_q;
  logic [12:0] mtu_q, mtu, tail, tail_q;
  logic [10:0] tail_words, tail_words_q;  // of the last packet's payload with its pad
  logic [COPIES-1:0] step;

  // A length of 0 or above 2^31 has its last byte at 2^31 or behind it.
  always_comb begin
    status = OK;
    if (!context_q.enabled) status = BAD_QP;
    else if (extent_q[31]) status = BAD_LENGTH;
  end
  assign refused = !context_q.enabled || extent_q[31];

  // What the last packet holds is the length below the MTU, or all of one: in none of its bits is there more to ask than
  // which MTU it is.
  always_comb begin
    mtu = '0;
    more = '0;
    tail = 13'(below(look_q.length, LOG2));
    tail_words = 11'(words_q[LOG2-3:0]);
    for (int unsigned k = 0; k < MTUS; k++) begin
      mtu[LOG2+k] = mtu_is_q[k];
      if (mtu_is_q[k]) begin
        more |= 24'(extent_q[31:0] >> (LOG2 + k));
        tail |= 13'(below(look_q.length, LOG2 + k)) | 13'(full_q[k]) << (LOG2 + k);
        tail_words |= 11'(below(32'(words_q), LOG2 + k - 2)) | 11'(full_words_q[k]) << (LOG2 + k - 2);
      end
    end
  end

  assign psn_index_o = look_q.qp;
  assign psn_next = psn_q + 1'b1;
  assign count_ready = ~valid_q | (step & {COPIES{last_q}});
  assign step = valid_q & packet_ready;

  always_ff @(posedge clk) begin
    for (int unsigned c = 0; c < COPIES; c++) if (count_ready[c]) valid_q[c] <= look_valid_q[c];
    if (count_ready[1]) qp_q <= context_q;
    if (count_ready[2]) begin
      imm_q <= look_q.imm;
      message_bytes_q <= look_q.length;
      address_q <= look_q.address;
    end else if (step[2]) begin
      address_q <= address_q + 64'(mtu_q);
    end
    if (count_ready[0]) begin
      replay_q <= look_q.replay;
      resume_q <= look_q.resume;
      imm_valid_q <= look_q.imm_valid;
      index_q <= look_q.qp;
      status_q <= status;
      first_q <= 1'b1;
      last_q <= refused || (mtu_is_q & single_q) != '0;
      more_q <= more;
      mtu_q <= mtu;
      tail_q <= refused ? 13'(!extent_q[32]) : tail;
      tail_words_q <= refused ? 11'(!extent_q[32]) : tail_words;
      psn_q <= psn_i;
      first_psn_q <= psn_i;
      // The message before ends now: else this one were not taken.
      if (valid_q[0] && status_q == OK && !replay_q && index_q == look_q.qp) begin
        psn_q <= psn_next;
        first_psn_q <= psn_next;
      end
      if (look_q.replay) begin
        psn_q <= look_q.psn;
        first_psn_q <= look_q.psn;
      end
    end else if (step[0]) begin
      first_q <= 1'b0;
      last_q <= more_q == 24'd1;
      more_q <= more_q - 1'b1;
      psn_q <= psn_next;
    end
    if (rst) valid_q <= '0;
  end

  assign psn_write_o = step[0] && last_q && status_q == OK && !replay_q;
  assign psn_write_index_o = index_q;
  assign psn_o = psn_next;

  // Packet: the fields of one. The source port's entropy is the same for all packets of a message.
  packet_t pkt;
  logic only, opens, imm;
  logic [12:0] length;
  logic [10:0] payload_words, other_words;
  logic [23:0] mixed;

  assign only = qp_q.segmentation == ONLY;
  assign opens = first_q && !resume_q;
  assign imm = last_q && imm_valid_q;
  assign length = last_q ? tail_q : mtu_q;

  always_comb begin
    payload_words = last_q ? tail_words_q : mtu_q[12:2];
    unique case ({
      only || opens, imm
    })
      2'b00:   other_words = 11'(UDP_WORDS);
      2'b01:   other_words = 11'(UDP_WORDS + IMM_WORDS);
      2'b10:   other_words = 11'(UDP_WORDS + RETH_WORDS);
      default: other_words = 11'(UDP_WORDS + RETH_WORDS + IMM_WORDS);
    endcase
  end

  assign mixed = qp_q.path.dest_qpn ^ first_psn_q;

  // The sum of three with one carry.
  function automatic logic [16:0] sum3(input logic [16:0] a, input logic [16:0] b, input logic [16:0] c);
    return (a ^ b ^ c) + {(a[15:0] & b[15:0]) | (a[15:0] & c[15:0]) | (b[15:0] & c[15:0]), 1'b0};
  endfunction

  // PSN + 1 is a multiple of 2^log2.
  function automatic logic ends_interval(input logic [23:0] psn, input logic [3:0] log2);
    return (~psn & ~(~24'd0 << log2)) == '0;
  endfunction

  always_comb begin
    pkt.status = status_q;
    pkt.ends = last_q;
    pkt.index = index_q;
    pkt.opcode = OP_WRITE_ONLY;
    if (!only) begin
      unique case ({
        opens, last_q
      })
        2'b10:   pkt.opcode = OP_WRITE_FIRST;
        2'b00:   pkt.opcode = OP_WRITE_MIDDLE;
        2'b01:   pkt.opcode = OP_WRITE_LAST;
        default: pkt.opcode = OP_WRITE_ONLY;
      endcase
    end
    if (imm) pkt.opcode |= OP_WITH_IMM;
    if (qp_q.service == UC) pkt.opcode |= OP_UC;
    pkt.has_reth = only || opens;
    pkt.has_imm = imm;
    pkt.ack_request = qp_q.service == RC && ((qp_q.ack_policy != NEVER && last_q) ||
        (qp_q.ack_policy == INTERVAL && ends_interval(psn_q, qp_q.ack_log2)));
    pkt.psn = psn_q;
    pkt.length = length;
    pkt.udp_length = {payload_words + other_words, 2'b00};
    pkt.checksum = sum3({1'b0, qp_q.checksum}, {4'd0, payload_words, 2'b00}, {4'd0, other_words, 2'b00});
    pkt.reth = '{address: address_q, rkey: qp_q.rkey, length: only ? 32'(length) : message_bytes_q};
    pkt.imm = imm_q;
    pkt.limited = qp_q.limited;
    pkt.path = qp_q.path;
    if (qp_q.entropy) pkt.path.src_port = {ENTROPY_PORTS, mixed[13:0] ^ 14'(mixed[23:14])};
  end

  (* keep, dont_merge *)logic [COPIES-1:0] pkt_valid_q;
  packet_t pkt_q;
  path_t path_q;

  assign packet_ready = ~pkt_valid_q | {COPIES{m_axis_pkt_tready}};
  assign m_axis_pkt_tvalid = pkt_valid_q[0];

  always_comb begin
    m_axis_pkt_tdata = pkt_q;
    m_axis_pkt_tdata.path = path_q;
  end

  always_ff @(posedge clk) begin
    for (int unsigned c = 0; c < COPIES; c++) if (packet_ready[c]) pkt_valid_q[c] <= valid_q[c];
    if (packet_ready[0]) pkt_q <= pkt;
    if (packet_ready[1]) path_q <= pkt.path;
    if (rst) pkt_valid_q <= '0;
  end

  logic unused;
  assign unused = ^{qp_q.enabled, qp_q.mtu_log2, pkt_q.path};

endmodule
