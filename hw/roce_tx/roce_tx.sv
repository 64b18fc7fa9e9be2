// RoCEv2 packetizer: messages (RDMA WRITEs) and their payload in, packets out. Wiring, and a count of what is under way.
//
//   messages -> roce_segment -> roce_header --.
//                   |                          roce_join -> roce_icrc -> packets
//                roce_qp           payload  --'
module roce_tx
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned NumQp = 16,

    localparam int unsigned KeepW  = DataW / 8,
    localparam int unsigned IndexW = $clog2(NumQp)
) (
    input logic clk,
    input logic rst,

    // The transmitter's own addresses, stable from the write of the first QP on
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    // QP table: a write is in force two cycles later; the QP must be idle
    input logic              qp_write_i,
    input logic [IndexW-1:0] qp_write_index_i,
    input qp_t               qp_write_data_i,

    // Path MTU of any QP, for those who count packets
    input  logic [7:0] mtu_index_i,
    output logic [3:0] mtu_log2_o,

    input  message_t s_axis_msg_tdata,
    input  logic     s_axis_msg_tvalid,
    output logic     s_axis_msg_tready,

    // One packet a message, of exactly the message's length
    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    // Ethernet frames without FCS
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // One pulse a message, in their order: all of its payload is taken
    output logic       status_valid_o,
    output status_e    status_o,
    output logic [7:0] status_qp_o,

    // No message is under way, and no packet
    output logic idle_o
);

  logic [7:0] index, psn_index;
  qp_t qp;
  logic [15:0] checksum;
  logic [23:0] psn;
  logic psn_write;

  roce_qp #(
      .NumQp(NumQp)
  ) u_qp (
      .clk,
      .rst,
      .local_ip_i,
      .write_i      (qp_write_i),
      .write_index_i(qp_write_index_i),
      .write_qp_i   (qp_write_data_i),
      .index_i      (index),
      .qp_o         (qp),
      .checksum_o   (checksum),
      .psn_write_i  (psn_write),
      .psn_index_i  (psn_index),
      .psn_i        (psn),
      .mtu_index_i,
      .mtu_log2_o
  );

  packet_t pkt_tdata;
  logic pkt_tvalid, pkt_tready;

  roce_segment u_segment (
      .clk,
      .rst,
      .s_axis_msg_tdata,
      .s_axis_msg_tvalid,
      .s_axis_msg_tready,
      .index_o          (index),
      .qp_i             (qp),
      .checksum_i       (checksum),
      .psn_write_o      (psn_write),
      .psn_index_o      (psn_index),
      .psn_o            (psn),
      .m_axis_pkt_tdata (pkt_tdata),
      .m_axis_pkt_tvalid(pkt_tvalid),
      .m_axis_pkt_tready(pkt_tready)
  );

  logic [DataW-1:0] hdr_tdata, join_tdata;
  logic [KeepW-1:0] hdr_tkeep, join_tkeep;
  header_user_t hdr_tuser;
  logic hdr_tlast, hdr_tvalid, hdr_tready;
  logic join_tlast, join_tvalid, join_tready;

  roce_header #(
      .DataW(DataW)
  ) u_header (
      .clk,
      .rst,
      .local_mac_i,
      .local_ip_i,
      .s_axis_pkt_tdata (pkt_tdata),
      .s_axis_pkt_tvalid(pkt_tvalid),
      .s_axis_pkt_tready(pkt_tready),
      .m_axis_hdr_tdata (hdr_tdata),
      .m_axis_hdr_tkeep (hdr_tkeep),
      .m_axis_hdr_tlast (hdr_tlast),
      .m_axis_hdr_tuser (hdr_tuser),
      .m_axis_hdr_tvalid(hdr_tvalid),
      .m_axis_hdr_tready(hdr_tready)
  );

  roce_join #(
      .DataW(DataW)
  ) u_join (
      .clk,
      .rst,
      .s_axis_hdr_tdata (hdr_tdata),
      .s_axis_hdr_tkeep (hdr_tkeep),
      .s_axis_hdr_tlast (hdr_tlast),
      .s_axis_hdr_tuser (hdr_tuser),
      .s_axis_hdr_tvalid(hdr_tvalid),
      .s_axis_hdr_tready(hdr_tready),
      .s_axis_payload_tdata,
      .s_axis_payload_tkeep,
      .s_axis_payload_tlast,
      .s_axis_payload_tvalid,
      .s_axis_payload_tready,
      .m_axis_tdata     (join_tdata),
      .m_axis_tkeep     (join_tkeep),
      .m_axis_tlast     (join_tlast),
      .m_axis_tvalid    (join_tvalid),
      .m_axis_tready    (join_tready),
      .status_valid_o,
      .status_o,
      .status_qp_o
  );

  roce_icrc #(
      .DataW(DataW)
  ) u_icrc (
      .clk,
      .rst,
      .s_axis_tdata (join_tdata),
      .s_axis_tkeep (join_tkeep),
      .s_axis_tlast (join_tlast),
      .s_axis_tvalid(join_tvalid),
      .s_axis_tready(join_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic [7:0] messages_q, packets_q;

  always_ff @(posedge clk) begin
    messages_q <= messages_q + 8'(s_axis_msg_tvalid && s_axis_msg_tready) - 8'(status_valid_o);
    packets_q  <= packets_q + 8'(join_tvalid && join_tready && join_tlast) -
        8'(m_axis_tvalid && m_axis_tready && m_axis_tlast);
    if (rst) begin
      messages_q <= '0;
      packets_q  <= '0;
    end
  end

  assign idle_o = messages_q == '0 && packets_q == '0 && !join_tvalid;

endmodule
