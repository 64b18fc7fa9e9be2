// The transmitter over PCIe: frames that lie in memory in, TLPs out, told by registers what to send where. Wiring only.
//
//   registers -> tables, commands             counts, events -> registers
//   frames -> pcie_core -> TLPs, of each engine those of the QP with its index
//   frame memory -> read_guard -'
//   [packets ------------------'] into buffers that software posts
//
// Its registers are those of tx, without Ethernet, and behind them those of the engines.
module pcie_tx
  import axi_pkg::*;
  import framelane_pkg::*;
  import pcie_counters_pkg::*;
  import tx_counters_pkg::pulses_t;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned Engines      = 2,            // 1 or 2
    parameter int unsigned Entries      = 8192,         // of the page map of each
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned ReadDepth    = 64,           // transfers that a memory reader runs ahead
    parameter int unsigned ReadBeats    = 512,          // for which it has room: of the memory's latency, and a burst
    parameter int unsigned MaxBurst     = 256,          // beats of its longest burst: 16 for HBM and AXI3
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,
    parameter bit          FrameStore   = 1'b0,         // frames come from a frame_store: said in the registers
    parameter bit          Correct      = 1'b0,         // which corrects them: likewise
    parameter int unsigned PacketBeats  = 0,            // of packets that wait, at each engine: 2^n; 0: there are none

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned UserW = $bits(pcie_pkg::tlp_user_t)
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/reference/registers.md, docs/integrating/pcie_registers.md)
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

    // Packets of sources that know no ring, for each engine. They cannot wait, and go into buffers that software posts, in sequence
    input logic [Engines-1:0][DataW-1:0] s_axis_packet_tdata,
    input logic [Engines-1:0][KeepW-1:0] s_axis_packet_tkeep,
    input logic [Engines-1:0]            s_axis_packet_tlast,
    input logic [Engines-1:0]            s_axis_packet_tuser,   // with tlast: it is wrong, and dropped
    input logic [Engines-1:0]            s_axis_packet_tvalid,
    input logic [       63:0]            packet_time_ns_i,      // with their last beats: for their trailers

    // The frame store, where there is one
    output store_control_t store_o,
    input  store_report_t  store_i,

    // AXI4 read masters: the frame memory, for each engine its own port; all in order
    output logic [Engines-1:0][AddrW-1:0] m_axi_araddr,
    output logic [Engines-1:0][      7:0] m_axi_arlen,
    output logic [Engines-1:0][      2:0] m_axi_arsize,
    output logic [Engines-1:0][      1:0] m_axi_arburst,
    output logic [Engines-1:0][      3:0] m_axi_arcache,
    output logic [Engines-1:0][      2:0] m_axi_arprot,
    output logic [Engines-1:0]            m_axi_arvalid,
    input  logic [Engines-1:0]            m_axi_arready,
    input  logic [Engines-1:0][DataW-1:0] m_axi_rdata,
    input  logic [Engines-1:0][      1:0] m_axi_rresp,
    input  logic [Engines-1:0]            m_axi_rlast,
    input  logic [Engines-1:0]            m_axi_rvalid,
    output logic [Engines-1:0]            m_axi_rready,

    // The endpoints: their link, Max_Payload_Size as their Device Control register has it, completions of reads
    input logic [Engines-1:0]      link_up_i,
    input logic [Engines-1:0][1:0] mps_i,
    input logic [Engines-1:0]      completion_i,
    input logic [Engines-1:0][4:0] completion_tag_i,
    input logic [Engines-1:0]      completion_bad_i,  // its status is an error, or it is poisoned

    // TLPs: data from the first doubleword on, with the header (tlp_user_t) beside
    output logic [Engines-1:0][  DataW-1:0] m_axis_tlp_tdata,
    output logic [Engines-1:0][DwordsW-1:0] m_axis_tlp_tkeep,
    output logic [Engines-1:0]              m_axis_tlp_tlast,
    output logic [Engines-1:0][  UserW-1:0] m_axis_tlp_tuser,
    output logic [Engines-1:0]              m_axis_tlp_tvalid,
    input  logic [Engines-1:0]              m_axis_tlp_tready,

    output logic interrupt_o,  // a bit of errors is set that interrupt_mask asks for
    output logic idle_o        // nothing is under way, and memory owes nothing
);

  axil_request_t axil_request, tx_request, pcie_request;
  axil_response_t axil_response, tx_response, pcie_response;
  logic [CORE_RESETS-1:0] core_rst;

  // The reset a cycle later: copies, always equal, two for registers, one for those of the engines, one for the rest.
  localparam int unsigned RESETS = 4;
  (* keep, dont_merge *)logic [RESETS-1:0] rst_q = '1;

  always_ff @(posedge clk) for (int unsigned c = 0; c < RESETS; c++) if (rst_q[c] != rst) rst_q[c] <= rst;

  logic armed, resetting, aborting, core_idle, quiet;
  logic [15:0] mac_limit, memory_limit;
  logic [1:0][7:0] flow_index;
  logic [7:0] destination_index;
  flow_t flow;
  destination_t destination;
  refusal_t refusal;
  logic refusal_valid, frame, ignored;
  pulses_t pulses;

  pcie_pkg::pcie_control_t [Engines-1:0] control;
  pcie_pkg::pcie_report_t [Engines-1:0] report;
  pcie_pulses_t [Engines-1:0] engine_pulses;
  pcie_pkg::mps_e [Engines-1:0] mps;
  pcie_pkg::tlp_user_t [Engines-1:0] user;
  axi_read_request_t [Engines-1:0] core_request;
  axi_read_response_t [Engines-1:0] core_response;
  logic [Engines-1:0][DataW-1:0] core_rdata;
  logic [Engines-1:0] read_errors, memory_late, memory_owes, memory_left, memory_fired, beyond;

  assign axil_request = '{
          awaddr: s_axil_awaddr, awprot: s_axil_awprot, awvalid: s_axil_awvalid,
          wdata: s_axil_wdata, wstrb: s_axil_wstrb, wvalid: s_axil_wvalid, bready: s_axil_bready,
          araddr: s_axil_araddr, arprot: s_axil_arprot, arvalid: s_axil_arvalid, rready: s_axil_rready
      };

  axil_both u_both (
      .s_axil_i(axil_request),
      .s_axil_o(axil_response),
      .m_axil_o({pcie_request, tx_request}),
      .m_axil_i({pcie_response, tx_response})
  );

  assign s_axil_awready = axil_response.awready;
  assign s_axil_wready = axil_response.wready;
  assign s_axil_bresp = axil_response.bresp;
  assign s_axil_bvalid = axil_response.bvalid;
  assign s_axil_arready = axil_response.arready;
  assign s_axil_rdata = axil_response.rdata;
  assign s_axil_rresp = axil_response.rresp;
  assign s_axil_rvalid = axil_response.rvalid;

  logic count_tvalid, count_tready, unused_qp_tvalid;
  count_t count_tdata;
  roce_pkg::qp_write_t unused_qp;

  registers #(
      .DataW       (DataW),
      .AddrW       (AddrW),
      .NumQp       (2),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .FrameStore  (FrameStore),
      .Correct     (Correct)
  ) u_registers (
      .clk,
      .rst                (rst_q[1:0]),
      .s_axil_i           (tx_request),
      .s_axil_o           (tx_response),
      .core_rst_o         (core_rst),
      .armed_o            (armed),
      .resetting_o        (resetting),
      .idle_i             (quiet),
      .mac_limit_o        (mac_limit),
      .memory_limit_o     (memory_limit),
      .aborting_o         (aborting),
      .mac_stuck_i        (1'b0),
      .memory_stuck_i     (memory_late != '0 || memory_left != '0 || store_i.stuck || store_i.left),
      .bad_address_i      (beyond != '0),
      .interrupt_o,
      .local_mac_o        (),
      .local_ip_o         (),
      .store_base_o       (store_o.base),
      .store_slot_bytes_o (store_o.slot_bytes),
      .store_slots_o      (store_o.slots),
      .correction_o       (store_o.correction),
      .mac_threshold_o    (),
      .m_axis_qp_tdata    (unused_qp),
      .m_axis_qp_tvalid   (unused_qp_tvalid),
      .m_axis_qp_tready   (1'b1),
      .flow_index_i       (flow_index),
      .flow_o             (flow),
      .destination_index_i(destination_index),
      .destination_o      (destination),
      .pulses_i           (pulses),
      .s_axis_count_tdata (count_tdata),
      .s_axis_count_tvalid(count_tvalid),
      .s_axis_count_tready(count_tready),
      .refusal_valid_i    (refusal_valid),
      .refusal_i          (refusal),
      .neighbour_o           (),
      .announce_o            (),
      .m_axis_resolve_tdata  (),
      .m_axis_resolve_tvalid (),
      .m_axis_resolve_tready (1'b1),
      .s_axis_resolved_tdata ('0),
      .s_axis_resolved_tvalid(1'b0),
      .link_up_i             (1'b0),
      .held_i                (1'b0),
      .conflict_mac_i        ('0),
      .station_pulses_i      ('0),
      .s_axis_cnp_tdata      ('0),
      .s_axis_cnp_tvalid     (1'b0),
      .s_axis_cnp_tready     (),
      .limits_o              (),
      .limits_qp_o           (),
      .limits_write_o        (),
      .m_axis_command_tdata  (),
      .m_axis_command_tvalid (),
      .m_axis_command_tready (1'b1),
      .command_refused_i     (1'b0),
      .rc_status_qp_o        (),
      .rc_status_i           ('0),
      .dcqcn_o               (),
      .dcqcn_burst_o         ()
  );

  pcie_registers #(
      .DataW  (DataW),
      .Engines(Engines),
      .Entries(Entries),
      .Packets(PacketBeats != 0)
  ) u_pcie_registers (
      .clk,
      .rst      (rst_q[2]),
      .s_axil_i (pcie_request),
      .s_axil_o (pcie_response),
      .control_o(control),
      .report_i (report),
      .pulses_i (engine_pulses),
      .clear_i  (core_rst[CORE_RESETS-1])
  );

  assign store_o.rst = core_rst[CORE_RESETS-1];
  assign store_o.armed = armed;
  assign store_o.aborting = resetting;
  assign store_o.drain = aborting;
  assign store_o.memory_limit = memory_limit;

  pcie_core #(
      .DataW       (DataW),
      .Engines     (Engines),
      .Entries     (Entries),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ReadDepth   (ReadDepth),
      .ReadBeats   (ReadBeats),
      .MaxBurst    (MaxBurst),
      .PacketBeats (PacketBeats)
  ) u_core (
      .clk,
      .rst                (core_rst[Engines+1:0]),
      .port_rst           (rst_q[3]),
      .armed_i            (armed),
      .aborting_i         (aborting),
      .resetting_i        (resetting),
      .control_i          (control),
      .report_o           (report),
      .pulses_o           (engine_pulses),
      .flow_index_o       (flow_index),
      .flow_i             (flow),
      .destination_index_o(destination_index),
      .destination_i      (destination),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .release_o,
      .s_axis_packet_tdata,
      .s_axis_packet_tkeep,
      .s_axis_packet_tlast,
      .s_axis_packet_tuser,
      .s_axis_packet_tvalid,
      .packet_time_ns_i,
      .m_axi_o            (core_request),
      .m_axi_i            (core_response),
      .m_axi_rdata        (core_rdata),
      .read_error_o       (read_errors),
      .link_up_i,
      .mps_i              (mps),
      .completion_i,
      .completion_tag_i,
      .completion_bad_i,
      .m_axis_tlp_tdata,
      .m_axis_tlp_tkeep,
      .m_axis_tlp_tlast,
      .m_axis_tlp_tuser   (user),
      .m_axis_tlp_tvalid,
      .m_axis_tlp_tready,
      .m_axis_count_tdata (count_tdata),
      .m_axis_count_tvalid(count_tvalid),
      .m_axis_count_tready(count_tready),
      .refusal_o          (refusal),
      .refusal_valid_o    (refusal_valid),
      .frame_o            (frame),
      .ignored_o          (ignored),
      .idle_o             (core_idle)
  );

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    axi_read_request_t request;
    axi_read_response_t response;

    assign response = '{
            arready: m_axi_arready[e], rresp: m_axi_rresp[e], rlast: m_axi_rlast[e], rvalid: m_axi_rvalid[e]
        };
    assign m_axi_araddr[e] = AddrW'(request.araddr);
    assign m_axi_arlen[e] = request.arlen;
    assign m_axi_arsize[e] = request.arsize;
    assign m_axi_arburst[e] = request.arburst;
    assign m_axi_arcache[e] = request.arcache;
    assign m_axi_arprot[e] = request.arprot;
    assign m_axi_arvalid[e] = request.arvalid;
    assign m_axi_rready[e] = request.rready;
    assign m_axis_tlp_tuser[e] = user[e];
    assign mps[e] = pcie_pkg::mps_e'(mps_i[e]);
    assign beyond[e] = request.arvalid && 65'(request.araddr) >> AddrW != '0;

    // Memory that stands still: no reset ends that.
    read_guard #(
        .DataW(DataW)
    ) u_read_guard (
        .clk,
        .rst        (rst_q[3]),
        .limit_i    (memory_limit),
        .drain_i    (aborting),
        .s_axi_i    (core_request[e]),
        .s_axi_o    (core_response[e]),
        .s_axi_rdata(core_rdata[e]),
        .m_axi_o    (request),
        .m_axi_i    (response),
        .m_axi_rdata(m_axi_rdata[e]),
        .late_o     (memory_late[e]),
        .owes_o     (memory_owes[e]),
        .left_o     (memory_left[e]),
        .fired_o    (memory_fired[e])
    );
  end

  assign quiet = core_idle && store_i.idle;
  assign idle_o = quiet && memory_owes == '0 && !store_i.owes;

  always_comb begin
    pulses = '0;
    pulses.frames = frame;
    pulses.frames_ignored = ignored || store_i.ignored;
    pulses.frames_lost = store_i.lost;
    pulses.read_errors = read_errors != '0;
    pulses.frames_bad = store_i.bad;
    pulses.mismatches = store_i.mismatch;
    pulses.constant_errors = store_i.constant_error;
    pulses.pixel_stalls = store_i.stall;
    pulses.memory_timeouts = memory_fired != '0 || store_i.timeout;
  end

  logic unused;
  assign unused = ^{unused_qp, unused_qp_tvalid, mac_limit, core_rst};

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || rst_q[0] || !(tx_response.bvalid && pcie_response.rvalid) &&
      !(tx_response.rvalid && pcie_response.bvalid))
    else $error("%m: one of the registers reads what the other writes");
  end
`endif

endmodule
