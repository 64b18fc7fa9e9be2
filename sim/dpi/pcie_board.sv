// Frames from a memory in C++ (board.cpp) to TLPs of a PCIe endpoint: placement, the memory reader, the write engine with its registers. The
// tables of flows and destinations are the program's, and so is what is behind the TLPs (root_complex.hpp). For simulation only.
//
//   frames -> bd_gen -> [or descriptors of the program] -> tx_payload -> pcie_engine -> TLPs
//                                                        pcie_regs ---------'
module pcie_board
  import axi_pkg::*;
  import framelane_pkg::*;
  import pcie_pkg::*;
  import pcie_regs_pkg::*;
  import rc_pkg::*;
  import roce_pkg::message_t;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Entries = 8192,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    // The engine's registers, in a cycle each
    input  logic        reg_write_i,
    input  logic        reg_read_i,
    input  logic [ 6:0] reg_offset_i,
    input  logic [31:0] reg_data_i,
    output logic [31:0] reg_data_o,
    output logic        reg_ready_o,

    input logic [1:0] endpoint_mps_i,  // what the link was given

    // Tables: the entry that was asked for a cycle before
    output logic [1:0][7:0] flow_index_o,
    input  flow_t           flow_i,
    output logic      [7:0] destination_index_o,
    input  destination_t    destination_i,

    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,

    // Descriptors of the program, where there are no frames, and the trailers of those that are `last`
    input  bd_t      s_axis_own_tdata,
    input  logic     s_axis_own_tvalid,
    output logic     s_axis_own_tready,
    input  trailer_t s_axis_own_trailer_tdata,
    input  logic     s_axis_own_trailer_tvalid,
    output logic     s_axis_own_trailer_tready,

    // TLPs
    output logic [  DataW-1:0] m_axis_tlp_tdata,
    output logic [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic               m_axis_tlp_tlast,
    output logic               m_axis_tlp_tvalid,
    input  logic               m_axis_tlp_tready,
    output logic [       63:0] tlp_address_o,
    output logic [        7:0] tlp_dwords_o,
    output logic [        7:0] tlp_enables_o,      // of the last doubleword, of the first
    output logic               tlp_read_o,
    output logic [        4:0] tlp_tag_o,
    output logic               tlp_poisoned_o,
    input  logic               completion_i,
    input  logic [        4:0] completion_tag_i,

    output count_t     count_o,
    output logic       count_valid_o,
    output logic       status_valid_o,
    output logic [3:0] status_o,
    output logic       event_lost_o,
    output logic       unanswered_o,
    output logic       refused_o,
    output logic       idle_o
);

  bd_t placed_tdata, bd_tdata, engine_tdata;
  trailer_t placed_trailer, trailer_tdata;
  rc_item_t item_tdata;
  message_t msg_tdata;
  refusal_t unused_refusal;
  count_t place_count_tdata, ledger_count_tdata;
  axi_read_request_t read_request;
  axi_read_response_t read_response;
  tlp_user_t tlp_user;
  logic placed_tvalid, placed_tready, placed_trailer_tvalid, placed_trailer_tready, bd_tvalid, bd_tready;
  logic trailer_tvalid, trailer_tready, item_tvalid, item_tready, msg_tvalid, msg_tready, own;
  logic over_tvalid, over_tready, place_count_tvalid, place_count_tready, ledger_count_tvalid, ledger_count_tready;
  logic bd_gen_idle, ledger_idle;
  logic [15:0] over_tdata, under_way_q;
  logic [DataW-1:0] payload_tdata;
  logic [KeepW-1:0] payload_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;
  bit [DataW-1:0] rdata;
  bit arready, rvalid, rlast;
  bit [1:0] rresp;
  logic [7:0] unused_bytes[2];
  logic [15:0] unused_wanted;
  logic [3:0] unused_bits;
  logic event_sent;
  logic [15:0] events_owed_q;  // frames whose events have neither left nor been lost
  pcie_pkg::status_e status;
  pcie_regs__in_t regs_in;
  pcie_regs__out_t regs;
  logic map_write_q, restart_q, engine_rst_q, still, write_done, read_done;
  logic [31:0] produced;
  logic unused_regs[4];
  mps_e mps;

  pcie_regs u_regs (
      .clk,
      .rst,
      .s_cpuif_req         (reg_write_i || reg_read_i),
      .s_cpuif_req_is_wr   ({4{reg_write_i}}),
      .s_cpuif_addr        (reg_offset_i),
      .s_cpuif_wr_data     (reg_data_i),
      .s_cpuif_wr_biten    ('1),
      .s_cpuif_req_stall_wr(unused_regs[0]),
      .s_cpuif_req_stall_rd(unused_regs[1]),
      .s_cpuif_rd_ack      (read_done),
      .s_cpuif_rd_err      (unused_regs[2]),
      .s_cpuif_rd_data     (reg_data_o),
      .s_cpuif_wr_ack      (write_done),
      .s_cpuif_wr_err      (unused_regs[3]),
      .hwif_in             (regs_in),
      .hwif_out            (regs)
  );

  assign reg_ready_o = write_done || read_done;
  assign mps = mps_e'(regs.link.mps.value < endpoint_mps_i ? regs.link.mps.value : endpoint_mps_i);

  always_comb begin
    regs_in.sizes.entries_log2.next = 5'(IndexW);
    regs_in.sizes.engines.next = 4'd1;
    regs_in.sizes.buffers_log2.next = '0;
    regs_in.sizes.data_width.next = 12'(DataW);
    regs_in.status.link.next = 1'b1;
    regs_in.status.idle.next = still;
    regs_in.status.failed.next = 1'b0;
    regs_in.status.restarting.next = restart_q;
    regs_in.status.snapshot_busy.next = 1'b0;
    regs_in.status.mps.next = mps;
    regs_in.errors.bad_length.hwset = status_valid_o && status == BAD_LENGTH;
    regs_in.errors.outside.hwset = status_valid_o && status == pcie_pkg::OUTSIDE;
    regs_in.errors.no_page.hwset = status_valid_o && status == NO_PAGE;
    regs_in.errors.bad_parity.hwset = status_valid_o && status == BAD_PARITY;
    regs_in.errors.too_short.hwset = status_valid_o && status == SHORT;
    regs_in.errors.too_long.hwset = status_valid_o && status == LONG;
    regs_in.errors.bad_payload.hwset = status_valid_o && status == BAD_PAYLOAD;
    regs_in.errors.link_down.hwset = 1'b0;
    regs_in.errors.unanswered.hwset = unanswered_o;
    regs_in.errors.fence_refused.hwset = 1'b0;
    regs_in.errors.unexpected.hwset = 1'b0;
    regs_in.errors.event_lost.hwset = event_lost_o;
    regs_in.errors.no_buffer.hwset = 1'b0;
    regs_in.map_index.value.next = regs.map_index.value.value + 1'b1;
    regs_in.map_index.value.we = map_write_q;
    regs_in.event_produced.value.next = produced;
    regs_in.msix_pending.pending.next = 1'b0;
  end

  // An entry is in force a cycle after it was written. A restart waits until nothing is under way.
  always_ff @(posedge clk) begin
    map_write_q <= regs.map_entry.page.swmod;
    restart_q <= regs.command.restart.value || (restart_q && !still);
    engine_rst_q <= rst || (restart_q && still);
    if (rst) begin
      map_write_q <= 1'b0;
      restart_q <= 1'b0;
    end
  end

  bd_gen u_bd_gen (
      .clk,
      .rst,
      .armed_i              (1'b1),
      .flow_index_o,
      .flow_i,
      .destination_index_o,
      .destination_i,
      .room_qp_o            (unused_bytes[0]),
      .room_wanted_o        (unused_wanted),
      .room_i               (1'b1),
      .admit_o              (unused_bits[0]),
      .mtu_index_o          (unused_bytes[1]),
      .mtu_log2_i           (4'd12),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_bd_tdata      (placed_tdata),
      .m_axis_bd_tvalid     (placed_tvalid),
      .m_axis_bd_tready     (placed_tready),
      .m_axis_trailer_tdata (placed_trailer),
      .m_axis_trailer_tvalid(placed_trailer_tvalid),
      .m_axis_trailer_tready(placed_trailer_tready),
      .m_axis_over_tdata    (over_tdata),
      .m_axis_over_tvalid   (over_tvalid),
      .m_axis_over_tready   (over_tready),
      .m_axis_count_tdata   (place_count_tdata),
      .m_axis_count_tvalid  (place_count_tvalid),
      .m_axis_count_tready  (place_count_tready),
      .refusal_o            (unused_refusal),
      .refusal_valid_o      (refused_o),
      .frame_o              (unused_bits[1]),
      .ignored_o            (unused_bits[2]),
      .idle_o               (bd_gen_idle)
  );

  // The program's descriptors pass where bd_gen has none; so do their trailers.
  assign own = !placed_tvalid;
  assign bd_tdata = own ? s_axis_own_tdata : placed_tdata;
  assign bd_tvalid = placed_tvalid || s_axis_own_tvalid;
  assign placed_tready = bd_tready;
  assign s_axis_own_tready = own && bd_tready;
  assign trailer_tdata = placed_trailer_tvalid ? placed_trailer : s_axis_own_trailer_tdata;
  assign trailer_tvalid = placed_trailer_tvalid || s_axis_own_trailer_tvalid;
  assign placed_trailer_tready = trailer_tready;
  assign s_axis_own_trailer_tready = !placed_trailer_tvalid && trailer_tready;

  tx_payload #(
      .DataW(DataW)
  ) u_payload (
      .clk,
      .rst,
      .s_axis_item_tdata    ('{tag: '0, rc: 1'b0, resume: 1'b0, psn: '0, bd: bd_tdata}),
      .s_axis_item_tvalid   (bd_tvalid),
      .s_axis_item_tready   (bd_tready),
      .s_axis_trailer_tdata (trailer_tdata),
      .s_axis_trailer_tvalid(trailer_tvalid),
      .s_axis_trailer_tready(trailer_tready),
      .m_axi_o              (read_request),
      .m_axi_i              (read_response),
      .m_axi_rdata          (rdata),
      .read_error_o         (unused_bits[3]),
      .m_axis_item_tdata    (item_tdata),
      .m_axis_item_tvalid   (item_tvalid),
      .m_axis_item_tready   (item_tready),
      .m_axis_msg_tdata     (msg_tdata),
      .m_axis_msg_tvalid    (msg_tvalid),
      .m_axis_msg_tready    (msg_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready)
  );

  memory_read #(
      .DataW(DataW)
  ) u_memory (
      .clk,
      .rst,
      .s_axi_araddr (read_request.araddr),
      .s_axi_arlen  (read_request.arlen),
      .s_axi_arsize (read_request.arsize),
      .s_axi_arburst(read_request.arburst),
      .s_axi_arvalid(read_request.arvalid),
      .s_axi_arready(arready),
      .s_axi_rdata  (rdata),
      .s_axi_rresp  (rresp),
      .s_axi_rlast  (rlast),
      .s_axi_rvalid (rvalid),
      .s_axi_rready (read_request.rready)
  );

  assign read_response = '{arready: arready, rresp: rresp, rlast: rlast, rvalid: rvalid};

  always_comb begin
    engine_tdata = '0;
    engine_tdata.imm = msg_tdata.imm;
    engine_tdata.last = msg_tdata.imm_valid;
    engine_tdata.length = msg_tdata.length;
    engine_tdata.destination = msg_tdata.address;
  end

  pcie_engine #(
      .DataW  (DataW),
      .Entries(Entries)
  ) u_engine (
      .clk,
      .rst                  (engine_rst_q),
      .mps_i                (mps),
      .page_log2_i          (regs.page_log2.value.value),
      .pages_i              (regs.pages.value.value[IndexW:0]),
      .map_write_i          (map_write_q),
      .map_index_i          (regs.map_index.value.value[IndexW-1:0]),
      .map_entry_i          ({regs.map_entry.parity.value, regs.map_entry.present.value, regs.map_entry.page.value}),
      .event_enabled_i      (regs.control.events.value),
      .event_base_i         (regs.event_base.value.value),
      .event_log2_i         (regs.event_log2.value.value),
      .event_consumed_i     (regs.event_consumed.value.value),
      .event_produced_o     (produced),
      .fence_i              (regs.control.fence.value),
      .fence_limit_i        (regs.fence_limit.value.value),
      .completion_i,
      .completion_tag_i,
      .s_axis_bd_tdata      (engine_tdata),
      .s_axis_bd_tvalid     (msg_tvalid),
      .s_axis_bd_tready     (msg_tready),
      .s_axis_payload_tdata (payload_tdata),
      .s_axis_payload_tkeep (payload_tkeep),
      .s_axis_payload_tlast (payload_tlast),
      .s_axis_payload_tuser (payload_tuser),
      .s_axis_payload_tvalid(payload_tvalid),
      .s_axis_payload_tready(payload_tready),
      .m_axis_tlp_tdata,
      .m_axis_tlp_tkeep,
      .m_axis_tlp_tlast,
      .m_axis_tlp_tuser     (tlp_user),
      .m_axis_tlp_tvalid,
      .m_axis_tlp_tready,
      .status_valid_o,
      .status_o             (status),
      .event_o              (event_sent),
      .event_lost_o,
      .unanswered_o
  );

  assign tlp_address_o = tlp_user.request.address;
  assign tlp_dwords_o = tlp_user.request.dwords;
  assign tlp_enables_o = {tlp_user.request.last_be, tlp_user.request.first_be};
  assign tlp_read_o = tlp_user.request.fence.read;
  assign tlp_tag_o = tlp_user.request.fence.tag;
  assign tlp_poisoned_o = tlp_user.poisoned;
  assign status_o = status;

  // Frames are followed to their end; the program's descriptors are of none.
  frame_ledger u_ledger (
      .clk,
      .rst,
      .s_axis_bd_tdata    (item_tdata.bd),
      .s_axis_bd_tvalid   (item_tvalid),
      .s_axis_bd_tready   (item_tready),
      .s_axis_over_tdata  (over_tdata),
      .s_axis_over_tvalid (over_tvalid),
      .s_axis_over_tready (over_tready),
      .ended_i            (status_valid_o),
      .failed_i           (status != pcie_pkg::OK),
      .m_axis_count_tdata (ledger_count_tdata),
      .m_axis_count_tvalid(ledger_count_tvalid),
      .m_axis_count_tready(ledger_count_tready),
      .release_o,
      .idle_o             (ledger_idle)
  );

  axis_merge #(
      .DataW($bits(count_t))
  ) u_counts (
      .clk,
      .rst,
      .s_axis_a_tdata (place_count_tdata),
      .s_axis_a_tvalid(place_count_tvalid),
      .s_axis_a_tready(place_count_tready),
      .s_axis_b_tdata (ledger_count_tdata),
      .s_axis_b_tvalid(ledger_count_tvalid),
      .s_axis_b_tready(ledger_count_tready),
      .m_axis_tdata   (count_o),
      .m_axis_tvalid  (count_valid_o),
      .m_axis_tready  (1'b1)
  );

  always_ff @(posedge clk) begin
    under_way_q <= under_way_q + 16'(bd_tvalid && bd_tready) - 16'(status_valid_o);
    events_owed_q <= events_owed_q + 16'(bd_tvalid && bd_tready && bd_tdata.last && regs.control.events.value) - 16'(event_sent)
                     - 16'(event_lost_o);
    if (rst) begin
      under_way_q <= '0;
      events_owed_q <= '0;
    end
  end

  assign still = under_way_q == '0 && events_owed_q == '0 && !m_axis_tlp_tvalid;
  assign idle_o = bd_gen_idle && ledger_idle && still && !count_valid_o;

  logic unused;
  assign unused = ^{unused_bits, unused_bytes[0], unused_bytes[1], unused_wanted, unused_refusal, regs.watchdog.value.value};

endmodule
