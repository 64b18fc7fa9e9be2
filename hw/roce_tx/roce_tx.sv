// RoCEv2 packetizer: messages (RDMA WRITEs) and their payload in, packets out. Wiring, and counts of what is under way and of
// what went wrong.
//
//   messages -> roce_segment -> roce_header --.
//                    |                         roce_join -> roce_icrc -> packets
//                 roce_qp            payload --'   |
//                                              roce_pacer
module roce_tx
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned NumQp = 16,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // The transmitter's own addresses, stable from the write of the first QP on
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    // QP table: a write is in force when tready is high again; a QP whose PSN is set must be idle
    input  qp_write_t s_axis_qp_tdata,
    input  logic      s_axis_qp_tvalid,
    output logic      s_axis_qp_tready,

    // Congestion control: packets that start, and rates that change (2^-16 bytes of the line a cycle, 0: no limit)
    output logic        spend_o,              // pulse
    output logic [ 7:0] spend_index_o,
    output logic [12:0] spend_bytes_o,
    input  logic [ 7:0] s_axis_rate_index,
    input  logic [23:0] s_axis_rate_tdata,
    input  logic        s_axis_rate_tvalid,
    output logic        s_axis_rate_tready,
    input  logic [23:0] default_burst_i,      // of QPs that have none
    input  logic        pace_all_i,           // also QPs that were written without a rate ask their bucket, and spend

    // Path MTU of any QP, for those who count packets
    input  logic [7:0] mtu_index_i,
    output logic [3:0] mtu_log2_o,

    input  message_t s_axis_msg_tdata,
    input  logic     s_axis_msg_tvalid,
    output logic     s_axis_msg_tready,

    // One packet a message, of the message's length
    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,   // bytes of this beat are wrong
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
    output errors_t    errors_o,

    // Packets that have not left, of messages that have ended with this cycle or before: at most so many, 0 when there is none
    output logic [7:0] in_line_o,

    // No message is under way, and no packet
    output logic idle_o
);

  logic [7:0] index, psn_index, psn_write_index, bucket_index;
  context_t qp;
  logic [23:0] psn, psn_after;
  logic psn_write, bucket_open, spend;
  logic [12:0] spend_bytes;

  roce_qp #(
      .NumQp(NumQp)
  ) u_qp (
      .clk,
      .rst,
      .local_ip_i,
      .s_axis_qp_tdata,
      .s_axis_qp_tvalid,
      .s_axis_qp_tready,
      .index_i          (index),
      .context_o        (qp),
      .psn_index_i      (psn_index),
      .psn_o            (psn),
      .psn_write_i      (psn_write),
      .psn_write_index_i(psn_write_index),
      .psn_i            (psn_after),
      .mtu_index_i,
      .mtu_log2_o
  );

  logic qp_written;

  assign qp_written = s_axis_qp_tvalid && s_axis_qp_tready;
  assign s_axis_rate_tready = !qp_written;
  assign spend_o = spend;
  assign spend_index_o = bucket_index;
  assign spend_bytes_o = spend_bytes;

  roce_pacer #(
      .NumQp(NumQp)
  ) u_pacer (
      .clk,
      .rst,
      .write_i        (qp_written || s_axis_rate_tvalid),
      .write_burst_i  (qp_written),
      .write_index_i  (s_axis_rate_tvalid && !qp_written ? s_axis_rate_index : s_axis_qp_tdata.index),
      .rate_i         (s_axis_rate_tvalid && !qp_written ? s_axis_rate_tdata : s_axis_qp_tdata.qp.rate),
      .burst_i        (s_axis_qp_tdata.qp.burst),
      .default_burst_i,
      .index_i        (bucket_index),
      .open_o         (bucket_open),
      .spend_i        (spend),
      .spend_bytes_i  (spend_bytes)
  );

  packet_t pkt_tdata;
  logic pkt_tvalid, pkt_tready;

  // A header of several beats leaves a cycle between two messages.
  roce_segment #(
      .EveryCycle(KeepW > BASE_BYTES)
  ) u_segment (
      .clk,
      .rst,
      .s_axis_msg_tdata,
      .s_axis_msg_tvalid,
      .s_axis_msg_tready,
      .index_o          (index),
      .context_i        (qp),
      .psn_index_o      (psn_index),
      .psn_i            (psn),
      .psn_write_o      (psn_write),
      .psn_write_index_o(psn_write_index),
      .psn_o            (psn_after),
      .m_axis_pkt_tdata (pkt_tdata),
      .m_axis_pkt_tvalid(pkt_tvalid),
      .m_axis_pkt_tready(pkt_tready)
  );

  logic [DataW-1:0] hdr_tdata, join_tdata;
  logic [KeepW-1:0] hdr_tkeep, join_tkeep;
  header_user_t hdr_tuser;
  packet_user_t join_tuser;
  logic hdr_tlast, hdr_tvalid, hdr_tready;
  logic join_tlast, join_tvalid, join_tready;

  roce_header #(
      .DataW(DataW)
  ) u_header (
      .clk,
      .rst,
      .local_mac_i,
      .local_ip_i,
      .pace_all_i,
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
      .s_axis_payload_tuser,
      .s_axis_payload_tvalid,
      .s_axis_payload_tready,
      .m_axis_tdata     (join_tdata),
      .m_axis_tkeep     (join_tkeep),
      .m_axis_tlast     (join_tlast),
      .m_axis_tuser     (join_tuser),
      .m_axis_tvalid    (join_tvalid),
      .m_axis_tready    (join_tready),
      .bucket_index_o   (bucket_index),
      .bucket_open_i    (bucket_open),
      .spend_o          (spend),
      .spend_bytes_o    (spend_bytes),
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
      .s_axis_tuser (join_tuser),
      .s_axis_tvalid(join_tvalid),
      .s_axis_tready(join_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready
  );

  logic [7:0] messages_q, packets_q;
  logic rst_q;  // for the errors, so that rst does not drive too much: none is found so soon behind it

  always_ff @(posedge clk) begin
    rst_q <= rst;
    messages_q <= messages_q + 8'(s_axis_msg_tvalid && s_axis_msg_tready) - 8'(status_valid_o);
    packets_q  <= packets_q + 8'(join_tvalid && join_tready && join_tlast) -
        8'(m_axis_tvalid && m_axis_tready && m_axis_tlast);
    if (status_valid_o) begin
      errors_o.bad_qp <= errors_o.bad_qp + 32'(status_o == BAD_QP);
      errors_o.bad_length <= errors_o.bad_length + 32'(status_o == BAD_LENGTH);
      errors_o.too_short <= errors_o.too_short + 32'(status_o == SHORT);
      errors_o.too_long <= errors_o.too_long + 32'(status_o == LONG);
      errors_o.bad_payload <= errors_o.bad_payload + 32'(status_o == BAD_PAYLOAD);
    end
    if (rst) begin
      messages_q <= '0;
      packets_q  <= '0;
    end
    if (rst_q) errors_o <= '0;
  end

  // The register behind the join may hold the last beats of two packets.
  assign in_line_o = packets_q + (join_tvalid ? 8'd2 : 8'd0);
  assign idle_o = messages_q == '0 && in_line_o == '0;

endmodule
