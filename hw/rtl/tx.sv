// The transmitter: frames that lie in memory in, RoCEv2 packets out. Wiring, and counters of what leaves.
//
//   frames -> bd_gen -> axis_fork -> mm2s ----.
//                |          |----------------- axis_select -> payload -.
//                '-> trailer ----------------'                        roce_tx -> packets
//                           '-----------------------------> messages -'
module tx
  import framelane_pkg::*;
  import roce_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned AddrW = 64,
    parameter int unsigned IdW   = 1,
    parameter int unsigned NumQp = 16,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Configuration, stable except in reset
    input logic  [47:0] local_mac_i,
    input logic  [31:0] local_ip_i,
    input flow_t        flow_i,

    // QP table: a write is in force when tready is high again; a QP whose PSN is set must be idle
    input  qp_write_t s_axis_qp_tdata,
    input  logic      s_axis_qp_tvalid,
    output logic      s_axis_qp_tready,

    // Credit: frame n may be sent only if n < window_end
    input logic [63:0] window_end_i,

    // Frames that are ready to be sent
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,

    // AXI4 read master: the frame memory
    output logic [  IdW-1:0] m_axi_arid,
    output logic [AddrW-1:0] m_axi_araddr,
    output logic [      7:0] m_axi_arlen,
    output logic [      2:0] m_axi_arsize,
    output logic [      1:0] m_axi_arburst,
    output logic [      3:0] m_axi_arcache,
    output logic [      2:0] m_axi_arprot,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic [  IdW-1:0] m_axi_rid,
    input  logic [DataW-1:0] m_axi_rdata,
    input  logic [      1:0] m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    // Ethernet frames without FCS
    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    // Counters since reset
    output logic    [63:0] frames_sent_o,
    output logic    [63:0] frames_dropped_o,  // for want of credit
    output logic    [63:0] frames_refused_o,  // at an address that is not aligned, or of 0 bytes
    output logic    [63:0] packets_o,         // that left, trailers included
    output errors_t        message_errors_o,
    output logic    [31:0] read_errors_o,     // beats of memory that came with an error and were sent all the same

    // Nothing is under way. Reset only then, or together with the memory: late data would pass for the next frame's
    output logic idle_o
);

  // Sinks of every descriptor, in the order of axis_fork's mask
  localparam int unsigned TO_MESSAGE = 0;
  localparam int unsigned TO_SELECT = 1;
  localparam int unsigned TO_READ = 2;
  localparam int unsigned SINKS = 3;

  // Sources of payload, as axis_select numbers them
  localparam int unsigned FROM_MEMORY = 0;
  localparam int unsigned FROM_TRAILER = 1;
  localparam int unsigned SOURCES = 2;

  logic [3:0] mtu_log2;
  logic bd_gen_idle;
  bd_t bd_tdata, item;
  logic bd_tvalid, bd_tready;
  trailer_t trailer_tdata;
  logic trailer_tvalid, trailer_tready;

  bd_gen #(
      .DataW(DataW)
  ) u_bd_gen (
      .clk,
      .rst,
      .flow_i,
      .mtu_log2_i           (mtu_log2),
      .window_end_i,
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_trailer_tdata (trailer_tdata),
      .m_axis_trailer_tvalid(trailer_tvalid),
      .m_axis_trailer_tready(trailer_tready),
      .frames_sent_o,
      .frames_dropped_o,
      .frames_refused_o,
      .idle_o               (bd_gen_idle)
  );

  logic [SINKS-1:0] mask, item_tvalid, item_tready;

  always_comb begin
    mask = '0;
    mask[TO_MESSAGE] = 1'b1;
    mask[TO_SELECT] = 1'b1;
    mask[TO_READ] = !bd_tdata.last;
  end

  axis_fork #(
      .DataW($bits(bd_t)),
      .Sinks(SINKS)
  ) u_fork (
      .clk,
      .rst,
      .s_axis_tdata (bd_tdata),
      .s_axis_tuser (mask),
      .s_axis_tvalid(bd_tvalid),
      .s_axis_tready(bd_tready),
      .m_axis_tdata (item),
      .m_axis_tvalid(item_tvalid),
      .m_axis_tready(item_tready)
  );

  logic [SOURCES-1:0][DataW-1:0] source_tdata;
  logic [SOURCES-1:0][KeepW-1:0] source_tkeep;
  logic [SOURCES-1:0] source_tlast, source_tvalid, source_tready;
  logic source_failed;

  mm2s #(
      .DataW(DataW),
      .AddrW(AddrW),
      .IdW  (IdW)
  ) u_mm2s (
      .clk,
      .rst,
      .s_axis_cmd_tdata ('{length: item.length, address: item.source}),
      .s_axis_cmd_tvalid(item_tvalid[TO_READ]),
      .s_axis_cmd_tready(item_tready[TO_READ]),
      .m_axis_tdata     (source_tdata[FROM_MEMORY]),
      .m_axis_tkeep     (source_tkeep[FROM_MEMORY]),
      .m_axis_tlast     (source_tlast[FROM_MEMORY]),
      .m_axis_tuser     (source_failed),
      .m_axis_tvalid    (source_tvalid[FROM_MEMORY]),
      .m_axis_tready    (source_tready[FROM_MEMORY]),
      .m_axi_arid,
      .m_axi_araddr,
      .m_axi_arlen,
      .m_axi_arsize,
      .m_axi_arburst,
      .m_axi_arcache,
      .m_axi_arprot,
      .m_axi_arvalid,
      .m_axi_arready,
      .m_axi_rid,
      .m_axi_rdata,
      .m_axi_rresp,
      .m_axi_rlast,
      .m_axi_rvalid,
      .m_axi_rready,
      .read_errors_o
  );

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst,
      .s_axis_trailer_tdata (trailer_tdata),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .m_axis_tdata         (source_tdata[FROM_TRAILER]),
      .m_axis_tkeep         (source_tkeep[FROM_TRAILER]),
      .m_axis_tlast         (source_tlast[FROM_TRAILER]),
      .m_axis_tvalid        (source_tvalid[FROM_TRAILER]),
      .m_axis_tready        (source_tready[FROM_TRAILER])
  );

  logic sel_tdata, sel_tvalid, sel_tready;

  axis_fifo #(
      .DataW(1),
      .Depth(4)
  ) u_order (
      .clk,
      .rst,
      .s_axis_tdata (item.last),
      .s_axis_tvalid(item_tvalid[TO_SELECT]),
      .s_axis_tready(item_tready[TO_SELECT]),
      .m_axis_tdata (sel_tdata),
      .m_axis_tvalid(sel_tvalid),
      .m_axis_tready(sel_tready)
  );

  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tvalid, payload_tready;

  axis_select #(
      .DataW  (DataW),
      .Sources(SOURCES)
  ) u_select (
      .clk,
      .rst,
      .s_axis_sel_tdata (sel_tdata),
      .s_axis_sel_tvalid(sel_tvalid),
      .s_axis_sel_tready(sel_tready),
      .s_axis_tdata     (source_tdata),
      .s_axis_tkeep     (source_tkeep),
      .s_axis_tlast     (source_tlast),
      .s_axis_tvalid    (source_tvalid),
      .s_axis_tready    (source_tready),
      .m_axis_tdata     (payload_tdata),
      .m_axis_tkeep     (payload_tkeep),
      .m_axis_tlast     (payload_tlast),
      .m_axis_tvalid    (payload_tvalid),
      .m_axis_tready    (payload_tready)
  );

  message_t msg_tdata, queued_tdata;
  logic queued_tvalid, queued_tready;

  assign msg_tdata = '{
          replay: 1'b0,
          psn: '0,
          imm_valid: item.last,
          imm: item.imm,
          qp: item.qp,
          length: item.length,
          address: item.destination
      };

  // Messages wait here while the payload of earlier ones passes, so that the memory reader can run ahead.
  axis_fifo #(
      .DataW($bits(message_t)),
      .Depth(4)
  ) u_messages (
      .clk,
      .rst,
      .s_axis_tdata (msg_tdata),
      .s_axis_tvalid(item_tvalid[TO_MESSAGE]),
      .s_axis_tready(item_tready[TO_MESSAGE]),
      .m_axis_tdata (queued_tdata),
      .m_axis_tvalid(queued_tvalid),
      .m_axis_tready(queued_tready)
  );

  logic status_valid, roce_idle;
  status_e status;
  logic [7:0] status_qp;

  roce_tx #(
      .DataW(DataW),
      .NumQp(NumQp)
  ) u_roce_tx (
      .clk,
      .rst,
      .local_mac_i,
      .local_ip_i,
      .s_axis_qp_tdata,
      .s_axis_qp_tvalid,
      .s_axis_qp_tready,
      .mtu_index_i          (flow_i.qp),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (queued_tdata),
      .s_axis_msg_tvalid    (queued_tvalid),
      .s_axis_msg_tready    (queued_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tvalid(payload_tvalid),
      .s_axis_payload_tready(payload_tready),
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .status_valid_o       (status_valid),
      .status_o             (status),
      .status_qp_o          (status_qp),
      .errors_o             (message_errors_o),
      .idle_o               (roce_idle)
  );

  logic [7:0] descriptors_q;  // of which the message has not ended

  always_ff @(posedge clk) begin
    descriptors_q <= descriptors_q + 8'(bd_tvalid && bd_tready) - 8'(status_valid);
    packets_o <= packets_o + 64'(m_axis_tvalid && m_axis_tready && m_axis_tlast);
    if (rst) begin
      descriptors_q <= '0;
      packets_o <= '0;
    end
  end

  assign idle_o = bd_gen_idle && descriptors_q == '0 && roce_idle;

  logic unused;
  assign unused = ^{status, status_qp, source_failed};

endmodule
