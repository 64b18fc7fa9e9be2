// Cuts messages into packets: opcode, PSN, length and RETH of each, one packet a cycle.
// A message that cannot be served passes as one packet with its status: no header follows from it, its payload is dropped.
module roce_segment
  import roce_pkg::*;
(
    input logic clk,
    input logic rst,

    input  message_t s_axis_msg_tdata,
    input  logic     s_axis_msg_tvalid,
    output logic     s_axis_msg_tready,

    // QP table: the context of a message's QP, the PSN after its last packet
    output logic [ 7:0] index_o,
    input  qp_t         qp_i,
    input  logic [15:0] checksum_i,
    output logic        psn_write_o,
    output logic [ 7:0] psn_index_o,
    output logic [23:0] psn_o,

    output packet_t m_axis_pkt_tdata,
    output logic    m_axis_pkt_tvalid,
    input  logic    m_axis_pkt_tready
);

  message_t message, message_q;
  logic message_valid, message_ready;

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
      .m_axis_tready(message_ready)
  );

  // The message under way: message_q.address moves on with its packets, left_q counts the bytes that are not yet in a packet,
  // this one's included.
  logic busy_q, first_q, last_q;
  status_e status, status_q;
  qp_t qp_q;
  logic [15:0] checksum_q;
  logic [31:0] left_q, left_next, left_new;
  logic [12:0] length_q, mtu, mtu_new;
  logic done;

  function automatic logic [12:0] packet_length(input logic [31:0] left, input logic [12:0] limit);
    return left < 32'(limit) ? left[12:0] : limit;
  endfunction

  assign index_o = message.qp;
  assign mtu = 13'd1 << qp_q.mtu_log2;
  assign mtu_new = 13'd1 << qp_i.mtu_log2;
  assign left_next = left_q - 32'(length_q);
  assign left_new = message.length;

  always_comb begin
    status = OK;
    if (!qp_i.enabled) status = BAD_QP;
    else if (message.length == '0 || message.length > MESSAGE_BYTES_MAX) status = BAD_LENGTH;
  end

  assign done = busy_q && last_q && m_axis_pkt_tready;
  assign message_ready = !busy_q || done;

  always_ff @(posedge clk) begin
    if (message_ready) begin
      busy_q <= message_valid;
      message_q <= message;
      qp_q <= qp_i;
      checksum_q <= checksum_i;
      status_q <= status;
      first_q <= 1'b1;
      last_q <= status != OK || left_new <= 32'(mtu_new);
      left_q <= left_new;
      length_q <= status != OK ? 13'(message.length != '0) : packet_length(left_new, mtu_new);
      if (psn_write_o && psn_index_o == message.qp) qp_q.psn <= psn_o;
    end else if (m_axis_pkt_tready) begin
      first_q <= 1'b0;
      last_q <= left_next <= 32'(mtu);
      left_q <= left_next;
      length_q <= packet_length(left_next, mtu);
      message_q.address <= message_q.address + 64'(mtu);
      qp_q.psn <= qp_q.psn + 1'b1;
    end
    if (rst) busy_q <= 1'b0;
  end

  assign psn_write_o = done && status_q == OK;
  assign psn_index_o = message_q.qp;
  assign psn_o = qp_q.psn + 1'b1;

  logic only;
  assign only = qp_q.segmentation == ONLY;
  assign m_axis_pkt_tvalid = busy_q;

  always_comb begin
    m_axis_pkt_tdata.status = status_q;
    m_axis_pkt_tdata.ends = last_q;
    m_axis_pkt_tdata.index = message_q.qp;
    m_axis_pkt_tdata.has_reth = only || first_q;
    m_axis_pkt_tdata.has_imm = last_q && message_q.imm_valid;
    m_axis_pkt_tdata.length = length_q;
    m_axis_pkt_tdata.reth.address = message_q.address;
    m_axis_pkt_tdata.reth.rkey = qp_q.rkey;
    m_axis_pkt_tdata.reth.length = only ? 32'(length_q) : message_q.length;
    m_axis_pkt_tdata.imm = message_q.imm;
    m_axis_pkt_tdata.checksum = checksum_q;
    m_axis_pkt_tdata.qp = qp_q;
    unique case ({
      only || (first_q && last_q), first_q, last_q
    })
      3'b010:  m_axis_pkt_tdata.opcode = OP_UC | OP_WRITE_FIRST;
      3'b000:  m_axis_pkt_tdata.opcode = OP_UC | OP_WRITE_MIDDLE;
      3'b001:  m_axis_pkt_tdata.opcode = OP_UC | OP_WRITE_LAST;
      default: m_axis_pkt_tdata.opcode = OP_UC | OP_WRITE_ONLY;
    endcase
    if (m_axis_pkt_tdata.has_imm) m_axis_pkt_tdata.opcode |= OP_WITH_IMM;
  end

endmodule
