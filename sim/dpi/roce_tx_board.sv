// The packetizer with its inputs registered: they change with the clock only, so that the simulator settles once a cycle.
// For simulation only. What an input says counts in the next cycle.
module roce_tx_board
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,

    input  qp_write_t s_axis_qp_tdata,
    input  logic      s_axis_qp_tvalid,
    output logic      s_axis_qp_tready,

    input  message_t s_axis_msg_tdata,
    input  logic     s_axis_msg_tvalid,
    output logic     s_axis_msg_tready,

    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic       status_valid_o,
    output status_e    status_o,
    output logic [7:0] status_qp_o,
    output logic       idle_o
);

  logic rst_q, qp_tvalid_q, msg_tvalid_q, payload_tlast_q, payload_tvalid_q, tready_q;
  logic [47:0] local_mac_q;
  logic [31:0] local_ip_q;
  qp_write_t qp_tdata_q;
  message_t msg_tdata_q;
  logic [DataW-1:0] payload_tdata_q;
  logic [KeepW-1:0] payload_tkeep_q;
  logic [3:0] mtu_log2;
  errors_t errors;

  always_ff @(posedge clk) begin
    rst_q <= rst;
    local_mac_q <= local_mac_i;
    local_ip_q <= local_ip_i;
    qp_tdata_q <= s_axis_qp_tdata;
    qp_tvalid_q <= s_axis_qp_tvalid;
    msg_tdata_q <= s_axis_msg_tdata;
    msg_tvalid_q <= s_axis_msg_tvalid;
    payload_tdata_q <= s_axis_payload_tdata;
    payload_tkeep_q <= s_axis_payload_tkeep;
    payload_tlast_q <= s_axis_payload_tlast;
    payload_tvalid_q <= s_axis_payload_tvalid;
    tready_q <= m_axis_tready;
  end

  logic rate_tready, spend;
  logic [7:0] spend_index;
  logic [12:0] spend_bytes;
  logic [7:0] in_line;

  roce_tx #(
      .DataW(DataW)
  ) u_roce_tx (
      .rst                  (rst_q),
      .local_mac_i          (local_mac_q),
      .local_ip_i           (local_ip_q),
      .s_axis_qp_tdata      (qp_tdata_q),
      .s_axis_qp_tvalid     (qp_tvalid_q),
      .s_axis_rate_index    ('0),
      .s_axis_rate_tdata    ('0),
      .s_axis_rate_tvalid   (1'b0),
      .s_axis_rate_tready   (rate_tready),
      .default_burst_i      ('0),
      .pace_all_i           (1'b0),
      .spend_o              (spend),
      .spend_index_o        (spend_index),
      .spend_bytes_o        (spend_bytes),
      .mtu_index_i          ('0),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (msg_tdata_q),
      .s_axis_msg_tvalid    (msg_tvalid_q),
      .s_axis_payload_tdata (payload_tdata_q),
      .s_axis_payload_tkeep (payload_tkeep_q),
      .s_axis_payload_tlast (payload_tlast_q),
      .s_axis_payload_tuser (1'b0),
      .s_axis_payload_tvalid(payload_tvalid_q),
      .m_axis_tready        (tready_q),
      .errors_o             (errors),
      .in_line_o            (in_line),
      .*
  );

  logic unused;
  assign unused = ^{mtu_log2, errors, rate_tready, spend, spend_index, spend_bytes, in_line};

endmodule
