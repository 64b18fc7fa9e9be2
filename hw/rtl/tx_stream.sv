// The transmitter behind a frame store: pixels of a detector in as a stream, RoCEv2 packets out. Wiring only.
//
//   pixels -> frame_store -> memory -> tx -> packets
//                  '------- frames ----^
module tx_stream
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned IdW          = 1,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter bit          Store        = 1'b1,         // 0: frames come that lie in memory already
    parameter int unsigned MaxSlots     = 1024,         // of the frame store
    parameter bit          Correct      = 1'b1,         // JUNGFRAU correction, where the registers switch it on
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ReadBeats    = 512,          // for which it has room
    parameter int unsigned MaxBurst     = 256,          // beats of the longest burst on any port: 16 for HBM and AXI3
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,
    parameter bit          Station      = 1'b0,         // receive path: ARP, ping, pauses
    parameter bit          Rc           = 1'b0,         // QPs may be of RC; needs Station
    parameter int unsigned RcQps        = 16,           // the first of the table; a power of two, 2 or more
    parameter int unsigned RcDepth      = 64,           // descriptors of each that are kept; a power of two
    parameter int unsigned RcAhead      = 384,          // beats read ahead, if Rc: cycles of the memory's latency
    parameter bit          TimeFlags    = 1'b0,         // frames may bring time_flags; 0: those of all are 0
    parameter bit          MacPort      = 1'b0,         // packets go through a mac_port: said in the registers

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/reference/registers.md)
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

    // Pixels: one packet a frame
    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,   // with the first beat
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,
    input  logic                    pixel_cut_i,          // with tlast: the packet was cut on its way, its frame is bad
    input  logic                    pixel_restart_i,      // with rst: what comes next begins a packet

    // Frames that lie complete in memory, as of tx: without Store
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // AXI4 write masters: the frame memory. Raw images
    output logic [  IdW-1:0] m_axi_awid,
    output logic [AddrW-1:0] m_axi_awaddr,
    output logic [      7:0] m_axi_awlen,
    output logic [      2:0] m_axi_awsize,
    output logic [      1:0] m_axi_awburst,
    output logic [      3:0] m_axi_awcache,
    output logic [      2:0] m_axi_awprot,
    output logic             m_axi_awvalid,
    input  logic             m_axi_awready,
    output logic [DataW-1:0] m_axi_wdata,
    output logic [KeepW-1:0] m_axi_wstrb,
    output logic             m_axi_wlast,
    output logic             m_axi_wvalid,
    input  logic             m_axi_wready,
    input  logic [  IdW-1:0] m_axi_bid,
    input  logic [      1:0] m_axi_bresp,
    input  logic             m_axi_bvalid,
    output logic             m_axi_bready,

    // Corrected images
    output logic [  IdW-1:0] m_axi_corrected_awid,
    output logic [AddrW-1:0] m_axi_corrected_awaddr,
    output logic [      7:0] m_axi_corrected_awlen,
    output logic [      2:0] m_axi_corrected_awsize,
    output logic [      1:0] m_axi_corrected_awburst,
    output logic [      3:0] m_axi_corrected_awcache,
    output logic [      2:0] m_axi_corrected_awprot,
    output logic             m_axi_corrected_awvalid,
    input  logic             m_axi_corrected_awready,
    output logic [DataW-1:0] m_axi_corrected_wdata,
    output logic [KeepW-1:0] m_axi_corrected_wstrb,
    output logic             m_axi_corrected_wlast,
    output logic             m_axi_corrected_wvalid,
    input  logic             m_axi_corrected_wready,
    input  logic [  IdW-1:0] m_axi_corrected_bid,
    input  logic [      1:0] m_axi_corrected_bresp,
    input  logic             m_axi_corrected_bvalid,
    output logic             m_axi_corrected_bready,

    // AXI4 read masters: the planes of the constants
    output logic [PLANES-1:0][  IdW-1:0] m_axi_constant_arid,
    output logic [PLANES-1:0][AddrW-1:0] m_axi_constant_araddr,
    output logic [PLANES-1:0][      7:0] m_axi_constant_arlen,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arsize,
    output logic [PLANES-1:0][      1:0] m_axi_constant_arburst,
    output logic [PLANES-1:0][      3:0] m_axi_constant_arcache,
    output logic [PLANES-1:0][      2:0] m_axi_constant_arprot,
    output logic [PLANES-1:0]            m_axi_constant_arvalid,
    input  logic [PLANES-1:0]            m_axi_constant_arready,
    input  logic [PLANES-1:0][  IdW-1:0] m_axi_constant_rid,
    input  logic [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,
    input  logic [PLANES-1:0][      1:0] m_axi_constant_rresp,
    input  logic [PLANES-1:0]            m_axi_constant_rlast,
    input  logic [PLANES-1:0]            m_axi_constant_rvalid,
    output logic [PLANES-1:0]            m_axi_constant_rready,

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

    // Ethernet frames without FCS from the MAC, which cannot wait, and its link; all 0 without Station
    input logic [DataW-1:0] s_axis_rx_tdata,
    input logic [KeepW-1:0] s_axis_rx_tkeep,
    input logic             s_axis_rx_tlast,
    input logic             s_axis_rx_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_rx_tvalid,
    input logic             link_up_i,

    // The mac_port, where there is one
    output logic [15:0] mac_threshold_o,
    input mac_report_t  mac_i,

    output logic interrupt_o,  // a bit of errors is set that interrupt_mask asks for
    output logic idle_o  // nothing is under way, and memory owes nothing
);

  if (Correct && !Store) begin : gen_check
    $error("%m: Correct needs Store");
  end

  frame_t frame_tdata;
  logic frame_tvalid, frame_tready, release_frame;
  store_control_t store;
  store_report_t store_report;

  if (Store) begin : gen_store
    guarded_store #(
        .DataW   (DataW),
        .AddrW   (AddrW),
        .IdW     (IdW),
        .MaxSlots(MaxSlots),
        .TimeFlags(TimeFlags),
        .Correct (Correct),
        .MaxBurst(MaxBurst)
    ) u_store (
        .clk,
        .rst,
        .store_i            (store),
        .store_o            (store_report),
        .s_axis_pixel_tdata,
        .s_axis_pixel_tkeep,
        .s_axis_pixel_tlast,
        .s_axis_pixel_tuser,
        .s_axis_pixel_tvalid,
        .s_axis_pixel_tready,
        .pixel_cut_i,
        .pixel_restart_i,
        .m_axi_awid,
        .m_axi_awaddr,
        .m_axi_awlen,
        .m_axi_awsize,
        .m_axi_awburst,
        .m_axi_awcache,
        .m_axi_awprot,
        .m_axi_awvalid,
        .m_axi_awready,
        .m_axi_wdata,
        .m_axi_wstrb,
        .m_axi_wlast,
        .m_axi_wvalid,
        .m_axi_wready,
        .m_axi_bid,
        .m_axi_bresp,
        .m_axi_bvalid,
        .m_axi_bready,
        .m_axi_corrected_awid,
        .m_axi_corrected_awaddr,
        .m_axi_corrected_awlen,
        .m_axi_corrected_awsize,
        .m_axi_corrected_awburst,
        .m_axi_corrected_awcache,
        .m_axi_corrected_awprot,
        .m_axi_corrected_awvalid,
        .m_axi_corrected_awready,
        .m_axi_corrected_wdata,
        .m_axi_corrected_wstrb,
        .m_axi_corrected_wlast,
        .m_axi_corrected_wvalid,
        .m_axi_corrected_wready,
        .m_axi_corrected_bid,
        .m_axi_corrected_bresp,
        .m_axi_corrected_bvalid,
        .m_axi_corrected_bready,
        .m_axi_constant_arid,
        .m_axi_constant_araddr,
        .m_axi_constant_arlen,
        .m_axi_constant_arsize,
        .m_axi_constant_arburst,
        .m_axi_constant_arcache,
        .m_axi_constant_arprot,
        .m_axi_constant_arvalid,
        .m_axi_constant_arready,
        .m_axi_constant_rid,
        .m_axi_constant_rdata,
        .m_axi_constant_rresp,
        .m_axi_constant_rlast,
        .m_axi_constant_rvalid,
        .m_axi_constant_rready,
        .m_axis_frame_tdata (frame_tdata),
        .m_axis_frame_tvalid(frame_tvalid),
        .m_axis_frame_tready(frame_tready),
        .release_i          (release_frame)
    );

    assign release_o = 1'b0;

    logic unused_frame;
    assign unused_frame = ^{s_axis_frame_tdata, s_axis_frame_tvalid};
    assign s_axis_frame_tready = 1'b0;
  end else begin : gen_no_store
    assign frame_tdata = s_axis_frame_tdata;
    assign frame_tvalid = s_axis_frame_tvalid;
    assign s_axis_frame_tready = frame_tready;
    assign release_o = release_frame;
    assign store_report = '{idle: 1'b1, default: 1'b0};
    assign s_axis_pixel_tready = 1'b0;
    assign {m_axi_awid, m_axi_awaddr, m_axi_awlen, m_axi_awsize, m_axi_awburst, m_axi_awcache, m_axi_awprot,
            m_axi_awvalid, m_axi_wdata, m_axi_wstrb, m_axi_wlast, m_axi_wvalid, m_axi_bready, m_axi_corrected_awid,
            m_axi_corrected_awaddr, m_axi_corrected_awlen, m_axi_corrected_awsize, m_axi_corrected_awburst,
            m_axi_corrected_awcache, m_axi_corrected_awprot, m_axi_corrected_awvalid, m_axi_corrected_wdata,
            m_axi_corrected_wstrb, m_axi_corrected_wlast, m_axi_corrected_wvalid, m_axi_corrected_bready,
            m_axi_constant_arid, m_axi_constant_araddr, m_axi_constant_arlen, m_axi_constant_arsize,
            m_axi_constant_arburst, m_axi_constant_arcache, m_axi_constant_arprot, m_axi_constant_arvalid,
            m_axi_constant_rready} = '0;

    logic unused_pixel;
    assign unused_pixel = ^{s_axis_pixel_tdata, s_axis_pixel_tkeep, s_axis_pixel_tlast, s_axis_pixel_tuser,
                            s_axis_pixel_tvalid, pixel_cut_i, pixel_restart_i, store, m_axi_awready, m_axi_wready,
                            m_axi_bid, m_axi_bresp, m_axi_bvalid, m_axi_corrected_awready, m_axi_corrected_wready,
                            m_axi_corrected_bid, m_axi_corrected_bresp, m_axi_corrected_bvalid,
                            m_axi_constant_arready, m_axi_constant_rid, m_axi_constant_rdata, m_axi_constant_rresp,
                            m_axi_constant_rlast, m_axi_constant_rvalid};
  end

  tx #(
      .DataW       (DataW),
      .AddrW       (AddrW),
      .IdW         (IdW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ReadDepth   (ReadDepth),
      .ReadBeats   (ReadBeats),
      .MaxBurst    (MaxBurst),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .FrameStore  (Store),
      .Correct     (Correct),
      .Station     (Station),
      .Rc          (Rc),
      .RcQps       (RcQps),
      .RcDepth     (RcDepth),
      .RcAhead     (RcAhead),
      .MaxSlots    (MaxSlots),
      .TimeFlags   (TimeFlags),
      .MacPort     (MacPort)
  ) u_tx (
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
      .s_axis_frame_tdata (frame_tdata),
      .s_axis_frame_tvalid(frame_tvalid),
      .s_axis_frame_tready(frame_tready),
      .release_o          (release_frame),
      .store_o            (store),
      .store_i            (store_report),
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
      .m_axis_tdata,
      .m_axis_tkeep,
      .m_axis_tlast,
      .m_axis_tvalid,
      .m_axis_tready,
      .s_axis_rx_tdata,
      .s_axis_rx_tkeep,
      .s_axis_rx_tlast,
      .s_axis_rx_tuser,
      .s_axis_rx_tvalid,
      .link_up_i,
      .mac_threshold_o,
      .mac_i,
      .interrupt_o,
      .idle_o
  );

endmodule
