// The transmitter: frames that lie in memory in, RoCEv2 packets out, told by registers what to send where. Wiring only.
//
//   registers -> tables, commands
//   frames -> bd_gen -> axis_fork -> mm2s ----.
//                |          |----------------- axis_select -> payload -.
//                '-> trailer ----------------'                        roce_tx -> packets
//                           |----------------------------> messages -'  |
//                           '-> frame_ledger <------ ends of messages --'
module tx
  import framelane_pkg::*;
  import roce_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned IdW          = 1,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,         // frames come from a frame_store: said in the registers
    parameter bit          Correct      = 1'b0,         // which corrects them: likewise

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/registers.md)
    input  logic [15:0] s_axil_awaddr,
    input  logic [ 2:0] s_axil_awprot,
    input  logic        s_axil_awvalid,
    output logic        s_axil_awready,
    input  logic [31:0] s_axil_wdata,
    input  logic [ 3:0] s_axil_wstrb,
    input  logic        s_axil_wvalid,
    output logic        s_axil_wready,
    output logic [ 1:0] s_axil_bresp,
    output logic        s_axil_bvalid,
    input  logic        s_axil_bready,
    input  logic [15:0] s_axil_araddr,
    input  logic [ 2:0] s_axil_arprot,
    input  logic        s_axil_arvalid,
    output logic        s_axil_arready,
    output logic [31:0] s_axil_rdata,
    output logic [ 1:0] s_axil_rresp,
    output logic        s_axil_rvalid,
    input  logic        s_axil_rready,

    // Frames that lie complete in memory, with rising numbers. Each is released once, in order: its memory is free again
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // The frame store, where there is one
    output logic        store_rst_o,
    output logic        store_armed_o,
    output logic        store_abort_o,
    output logic [63:0] store_base_o,
    output logic [31:0] store_slot_bytes_o,
    output logic [15:0] store_slots_o,
    output correction_t store_correction_o,
    input  logic        store_idle_i,        // 1 where there is none
    input  logic        store_lost_i,        // pulse: a frame was lost there
    input  logic        store_bad_i,         // pulse: a frame did not fit there, or its memory refused it
    input  logic        store_ignored_i,     // pulse: a frame passed while not armed
    input  logic        store_mismatch_i,    // pulse: a frame was shorter or longer than its constants
    input  logic        store_constant_error_i,  // pulse: a beat of constants came with an error
    input  logic        store_stall_i,       // pulse: a beat of pixels waits

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

    output logic idle_o  // nothing is under way
);

  // Sinks of every descriptor, in the order of axis_fork's mask
  localparam int unsigned TO_MESSAGE = 0;
  localparam int unsigned TO_SELECT = 1;
  localparam int unsigned TO_LEDGER = 2;
  localparam int unsigned TO_READ = 3;
  localparam int unsigned SINKS = 4;

  // Sources of payload, as axis_select numbers them
  localparam int unsigned FROM_MEMORY = 0;
  localparam int unsigned FROM_TRAILER = 1;
  localparam int unsigned SOURCES = 2;

  logic core_rst, armed;
  logic [47:0] local_mac;
  logic [31:0] local_ip;
  qp_write_t qp_tdata;
  logic qp_tvalid, qp_tready;
  logic [7:0] flow_index, destination_index, mtu_index;
  flow_t flow;
  destination_t destination;
  logic [3:0] mtu_log2;
  logic [PULSES-1:0] pulses;
  refusal_t refusal;
  logic refusal_valid;
  count_t place_count, ledger_count, count_tdata;
  logic place_count_tvalid, place_count_tready, ledger_count_tvalid, ledger_count_tready, count_tvalid, count_tready;

  registers #(
      .DataW       (DataW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .FrameStore  (FrameStore),
      .Correct     (Correct)
  ) u_registers (
      .clk,
      .rst,
      .s_axil_awaddr,
      .s_axil_awprot,
      .s_axil_awvalid,
      .s_axil_awready,
      .s_axil_wdata,
      .s_axil_wstrb,
      .s_axil_wvalid,
      .s_axil_wready,
      .s_axil_bresp,
      .s_axil_bvalid,
      .s_axil_bready,
      .s_axil_araddr,
      .s_axil_arprot,
      .s_axil_arvalid,
      .s_axil_arready,
      .s_axil_rdata,
      .s_axil_rresp,
      .s_axil_rvalid,
      .s_axil_rready,
      .core_rst_o         (core_rst),
      .armed_o            (armed),
      .resetting_o        (store_abort_o),
      .idle_i             (idle_o),
      .local_mac_o        (local_mac),
      .local_ip_o         (local_ip),
      .store_base_o,
      .store_slot_bytes_o,
      .store_slots_o,
      .correction_o       (store_correction_o),
      .m_axis_qp_tdata    (qp_tdata),
      .m_axis_qp_tvalid   (qp_tvalid),
      .m_axis_qp_tready   (qp_tready),
      .flow_index_i       (flow_index),
      .flow_o             (flow),
      .destination_index_i(destination_index),
      .destination_o      (destination),
      .pulse_i            (pulses),
      .s_axis_count_tdata (count_tdata),
      .s_axis_count_tvalid(count_tvalid),
      .s_axis_count_tready(count_tready),
      .refusal_valid_i    (refusal_valid),
      .refusal_i          (refusal)
  );

  assign store_rst_o = core_rst;
  assign store_armed_o = armed;

  axis_merge #(
      .DataW($bits(count_t))
  ) u_counts (
      .clk,
      .rst            (core_rst),
      .s_axis_a_tdata (place_count),
      .s_axis_a_tvalid(place_count_tvalid),
      .s_axis_a_tready(place_count_tready),
      .s_axis_b_tdata (ledger_count),
      .s_axis_b_tvalid(ledger_count_tvalid),
      .s_axis_b_tready(ledger_count_tready),
      .m_axis_tdata   (count_tdata),
      .m_axis_tvalid  (count_tvalid),
      .m_axis_tready  (count_tready)
  );

  bd_t bd_tdata, item;
  logic bd_tvalid, bd_tready, bd_gen_idle, frame, ignored;
  trailer_t trailer_tdata;
  logic trailer_tvalid, trailer_tready;
  logic [15:0] over_tdata;
  logic over_tvalid, over_tready;

  bd_gen #(
      .Flows       (Flows),
      .Destinations(Destinations)
  ) u_bd_gen (
      .clk,
      .rst                  (core_rst),
      .armed_i              (armed),
      .flow_index_o         (flow_index),
      .flow_i               (flow),
      .destination_index_o  (destination_index),
      .destination_i        (destination),
      .mtu_index_o          (mtu_index),
      .mtu_log2_i           (mtu_log2),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (bd_tdata),
      .m_axis_bd_tvalid     (bd_tvalid),
      .m_axis_bd_tready     (bd_tready),
      .m_axis_trailer_tdata (trailer_tdata),
      .m_axis_trailer_tvalid(trailer_tvalid),
      .m_axis_trailer_tready(trailer_tready),
      .m_axis_over_tdata    (over_tdata),
      .m_axis_over_tvalid   (over_tvalid),
      .m_axis_over_tready   (over_tready),
      .m_axis_count_tdata   (place_count),
      .m_axis_count_tvalid  (place_count_tvalid),
      .m_axis_count_tready  (place_count_tready),
      .refusal_o            (refusal),
      .refusal_valid_o      (refusal_valid),
      .frame_o              (frame),
      .ignored_o            (ignored),
      .idle_o               (bd_gen_idle)
  );

  logic [SINKS-1:0] mask, item_tvalid, item_tready;

  always_comb begin
    mask = '0;
    mask[TO_MESSAGE] = 1'b1;
    mask[TO_SELECT] = 1'b1;
    mask[TO_LEDGER] = 1'b1;
    mask[TO_READ] = !bd_tdata.last;
  end

  axis_fork #(
      .DataW($bits(bd_t)),
      .Sinks(SINKS)
  ) u_fork (
      .clk,
      .rst(core_rst),
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
  logic [SOURCES-1:0] source_tlast, source_tuser, source_tvalid, source_tready;
  logic read_error;

  assign source_tuser[FROM_TRAILER] = 1'b0;

  mm2s #(
      .DataW(DataW),
      .AddrW(AddrW),
      .IdW  (IdW),
      .Depth(ReadDepth)
  ) u_mm2s (
      .clk,
      .rst(core_rst),
      .s_axis_cmd_tdata ('{length: item.length, address: item.source}),
      .s_axis_cmd_tvalid(item_tvalid[TO_READ]),
      .s_axis_cmd_tready(item_tready[TO_READ]),
      .m_axis_tdata     (source_tdata[FROM_MEMORY]),
      .m_axis_tkeep     (source_tkeep[FROM_MEMORY]),
      .m_axis_tlast     (source_tlast[FROM_MEMORY]),
      .m_axis_tuser     (source_tuser[FROM_MEMORY]),
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
      .read_error_o     (read_error)
  );

  trailer #(
      .DataW(DataW)
  ) u_trailer (
      .clk,
      .rst(core_rst),
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
      .Depth(ReadDepth)
  ) u_order (
      .clk,
      .rst(core_rst),
      .s_axis_tdata (item.last),
      .s_axis_tvalid(item_tvalid[TO_SELECT]),
      .s_axis_tready(item_tready[TO_SELECT]),
      .m_axis_tdata (sel_tdata),
      .m_axis_tvalid(sel_tvalid),
      .m_axis_tready(sel_tready)
  );

  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;

  axis_select #(
      .DataW  (DataW),
      .Sources(SOURCES)
  ) u_select (
      .clk,
      .rst(core_rst),
      .s_axis_sel_tdata (sel_tdata),
      .s_axis_sel_tvalid(sel_tvalid),
      .s_axis_sel_tready(sel_tready),
      .s_axis_tdata     (source_tdata),
      .s_axis_tkeep     (source_tkeep),
      .s_axis_tlast     (source_tlast),
      .s_axis_tuser     (source_tuser),
      .s_axis_tvalid    (source_tvalid),
      .s_axis_tready    (source_tready),
      .m_axis_tdata     (payload_tdata),
      .m_axis_tkeep     (payload_tkeep),
      .m_axis_tlast     (payload_tlast),
      .m_axis_tuser     (payload_tuser),
      .m_axis_tvalid    (payload_tvalid),
      .m_axis_tready    (payload_tready)
  );

  message_t msg_tdata, queued_tdata;
  logic queued_tvalid, queued_tready;

  assign msg_tdata = '{
          replay: 1'b0,
          resume: 1'b0,
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
      .Depth(ReadDepth)
  ) u_messages (
      .clk,
      .rst(core_rst),
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
  errors_t errors;

  roce_tx #(
      .DataW(DataW),
      .NumQp(NumQp)
  ) u_roce_tx (
      .clk,
      .rst(core_rst),
      .local_mac_i          (local_mac),
      .local_ip_i           (local_ip),
      .s_axis_qp_tdata      (qp_tdata),
      .s_axis_qp_tvalid     (qp_tvalid),
      .s_axis_qp_tready     (qp_tready),
      .mtu_index_i          (mtu_index),
      .mtu_log2_o           (mtu_log2),
      .s_axis_msg_tdata     (queued_tdata),
      .s_axis_msg_tvalid    (queued_tvalid),
      .s_axis_msg_tready    (queued_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tuser (payload_tuser),
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
      .errors_o             (errors),
      .idle_o               (roce_idle)
  );

  logic ledger_idle;

  frame_ledger u_ledger (
      .clk,
      .rst(core_rst),
      .s_axis_bd_tdata    (item),
      .s_axis_bd_tvalid   (item_tvalid[TO_LEDGER]),
      .s_axis_bd_tready   (item_tready[TO_LEDGER]),
      .s_axis_over_tdata  (over_tdata),
      .s_axis_over_tvalid (over_tvalid),
      .s_axis_over_tready (over_tready),
      .ended_i            (status_valid),
      .failed_i           (status != OK),
      .m_axis_count_tdata (ledger_count),
      .m_axis_count_tvalid(ledger_count_tvalid),
      .m_axis_count_tready(ledger_count_tready),
      .release_o,
      .idle_o             (ledger_idle)
  );

  logic [15:0] messages_q;  // descriptors of which the message has not ended

  always_ff @(posedge clk) begin
    messages_q <= messages_q + 16'(bd_tvalid && bd_tready) - 16'(status_valid);
    if (core_rst) messages_q <= '0;
  end

  assign idle_o = bd_gen_idle && messages_q == '0 && ledger_idle && !count_tvalid && roce_idle && store_idle_i;

  // In the order of the counters' indexes
  assign pulses = {
    store_stall_i,
    store_constant_error_i,
    store_mismatch_i,
    store_bad_i,
    read_error,
    status_valid && status == BAD_PAYLOAD,
    status_valid && status == LONG,
    status_valid && status == SHORT,
    status_valid && status == BAD_LENGTH,
    status_valid && status == BAD_QP,
    status_valid,
    m_axis_tvalid && !m_axis_tready,
    m_axis_tvalid && m_axis_tready,
    m_axis_tvalid && m_axis_tready && m_axis_tlast,
    store_lost_i,
    ignored || store_ignored_i,
    frame,
    1'b0
  };

  // The registers count these themselves.
  logic unused;
  assign unused = ^{status_qp, errors};

endmodule
