// The transmitter behind a frame store: pixels of a detector in as a stream, RoCEv2 packets out. Wiring only.
//
//   pixels -> frame_store -> memory -> tx -> packets
//                  '------- frames ----^
module tx_stream
  import axi_pkg::*;
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

  axi_write_request_t raw_request, corrected_request;
  axi_write_response_t raw_response, corrected_response;
  axi_read_request_t [PLANES-1:0] constant_request;
  axi_read_response_t [PLANES-1:0] constant_response;

  // The tops' ports are flat; data return in order
  assign raw_response = '{awready: m_axi_awready, wready: m_axi_wready, bresp: m_axi_bresp, bvalid: m_axi_bvalid};
  assign m_axi_awid = '0;
  assign m_axi_awaddr = AddrW'(raw_request.awaddr);
  assign m_axi_awlen = raw_request.awlen;
  assign m_axi_awsize = raw_request.awsize;
  assign m_axi_awburst = raw_request.awburst;
  assign m_axi_awcache = raw_request.awcache;
  assign m_axi_awprot = raw_request.awprot;
  assign m_axi_awvalid = raw_request.awvalid;
  assign m_axi_wlast = raw_request.wlast;
  assign m_axi_wvalid = raw_request.wvalid;
  assign m_axi_bready = raw_request.bready;

  assign corrected_response = '{
          awready: m_axi_corrected_awready,
          wready: m_axi_corrected_wready,
          bresp: m_axi_corrected_bresp,
          bvalid: m_axi_corrected_bvalid
      };
  assign m_axi_corrected_awid = '0;
  assign m_axi_corrected_awaddr = AddrW'(corrected_request.awaddr);
  assign m_axi_corrected_awlen = corrected_request.awlen;
  assign m_axi_corrected_awsize = corrected_request.awsize;
  assign m_axi_corrected_awburst = corrected_request.awburst;
  assign m_axi_corrected_awcache = corrected_request.awcache;
  assign m_axi_corrected_awprot = corrected_request.awprot;
  assign m_axi_corrected_awvalid = corrected_request.awvalid;
  assign m_axi_corrected_wlast = corrected_request.wlast;
  assign m_axi_corrected_wvalid = corrected_request.wvalid;
  assign m_axi_corrected_bready = corrected_request.bready;

  for (genvar k = 0; k < PLANES; k++) begin : gen_plane
    assign constant_response[k] = '{
            arready: m_axi_constant_arready[k], rresp: m_axi_constant_rresp[k],
            rlast: m_axi_constant_rlast[k], rvalid: m_axi_constant_rvalid[k]
        };
    assign m_axi_constant_arid[k] = '0;
    assign m_axi_constant_araddr[k] = AddrW'(constant_request[k].araddr);
    assign m_axi_constant_arlen[k] = constant_request[k].arlen;
    assign m_axi_constant_arsize[k] = constant_request[k].arsize;
    assign m_axi_constant_arburst[k] = constant_request[k].arburst;
    assign m_axi_constant_arcache[k] = constant_request[k].arcache;
    assign m_axi_constant_arprot[k] = constant_request[k].arprot;
    assign m_axi_constant_arvalid[k] = constant_request[k].arvalid;
    assign m_axi_constant_rready[k] = constant_request[k].rready;
  end

  logic unused;
  assign unused = ^{m_axi_bid, m_axi_corrected_bid, m_axi_constant_rid};

  if (Store) begin : gen_store
    axi_read_request_t [PLANES-1:0] store_request;
    axi_read_response_t [PLANES-1:0] store_response;
    logic [PLANES-1:0][DataW-1:0] store_rdata;
    axi_write_request_t [1:0] write_request;  // {corrected images, raw ones}
    axi_write_response_t [1:0] write_response;
    logic [1:0][DataW-1:0] write_data;
    logic [1:0][KeepW-1:0] write_strb;
    logic [PLANES+1:0] late, owes, left, fired;  // {writers, planes}

    assign store_report.stuck = late != '0;
    assign store_report.owes = owes != '0;
    assign store_report.left = left != '0;
    assign store_report.timeout = fired != '0;

    for (genvar k = 0; k < PLANES; k++) begin : gen_guard
      read_guard #(
          .DataW(DataW)
      ) u_guard (
          .clk,
          .rst,
          .limit_i    (store.memory_limit),
          .drain_i    (store.drain),
          .s_axi_i    (store_request[k]),
          .s_axi_o    (store_response[k]),
          .s_axi_rdata(store_rdata[k]),
          .m_axi_o    (constant_request[k]),
          .m_axi_i    (constant_response[k]),
          .m_axi_rdata(m_axi_constant_rdata[k]),
          .late_o     (late[k]),
          .owes_o     (owes[k]),
          .left_o     (left[k]),
          .fired_o    (fired[k])
      );
    end

    write_guard #(
        .DataW(DataW)
    ) u_raw_guard (
        .clk,
        .rst,
        .limit_i    (store.memory_limit),
        .drain_i    (store.drain),
        .s_axi_i    (write_request[0]),
        .s_axi_o    (write_response[0]),
        .s_axi_wdata(write_data[0]),
        .s_axi_wstrb(write_strb[0]),
        .m_axi_o    (raw_request),
        .m_axi_i    (raw_response),
        .m_axi_wdata,
        .m_axi_wstrb,
        .late_o     (late[PLANES]),
        .owes_o     (owes[PLANES]),
        .left_o     (left[PLANES]),
        .fired_o    (fired[PLANES])
    );

    if (Correct) begin : gen_corrected_guard
      write_guard #(
          .DataW(DataW)
      ) u_guard (
          .clk,
          .rst,
          .limit_i    (store.memory_limit),
          .drain_i    (store.drain),
          .s_axi_i    (write_request[1]),
          .s_axi_o    (write_response[1]),
          .s_axi_wdata(write_data[1]),
          .s_axi_wstrb(write_strb[1]),
          .m_axi_o    (corrected_request),
          .m_axi_i    (corrected_response),
          .m_axi_wdata(m_axi_corrected_wdata),
          .m_axi_wstrb(m_axi_corrected_wstrb),
          .late_o     (late[PLANES+1]),
          .owes_o     (owes[PLANES+1]),
          .left_o     (left[PLANES+1]),
          .fired_o    (fired[PLANES+1])
      );
    end else begin : gen_no_corrected_guard
      assign {corrected_request, m_axi_corrected_wdata, m_axi_corrected_wstrb} = '0;
      assign write_response[1] = '0;
      assign {late[PLANES+1], owes[PLANES+1], left[PLANES+1], fired[PLANES+1]} = '0;

      logic unused_corrected;
      assign unused_corrected = ^{write_request[1], write_data[1], write_strb[1], corrected_response};
    end

    frame_store #(
        .DataW   (DataW),
        .AddrW   (AddrW),
        .MaxSlots(MaxSlots),
        .Correct (Correct),
        .MaxBurst(MaxBurst)
    ) u_store (
        .clk,
        .rst                (store.rst),
        .base_i             (store.base),
        .slot_bytes_i       (store.slot_bytes),
        .slots_i            (store.slots),
        .armed_i            (store.armed),
        .abort_i            (store.aborting),
        .correction_i       (store.correction),
        .s_axis_pixel_tdata,
        .s_axis_pixel_tkeep,
        .s_axis_pixel_tlast,
        .s_axis_pixel_tuser,
        .s_axis_pixel_tvalid,
        .s_axis_pixel_tready,
        .pixel_cut_i,
        .pixel_restart_i,
        .m_axi_o            (write_request[0]),
        .m_axi_i            (write_response[0]),
        .m_axi_wdata        (write_data[0]),
        .m_axi_wstrb        (write_strb[0]),
        .m_axi_corrected_o  (write_request[1]),
        .m_axi_corrected_i  (write_response[1]),
        .m_axi_corrected_wdata(write_data[1]),
        .m_axi_corrected_wstrb(write_strb[1]),
        .m_axi_constant_o   (store_request),
        .m_axi_constant_i   (store_response),
        .m_axi_constant_rdata(store_rdata),
        .m_axis_frame_tdata (frame_tdata),
        .m_axis_frame_tvalid(frame_tvalid),
        .m_axis_frame_tready(frame_tready),
        .release_i          (release_frame),
        .lost_o             (store_report.lost),
        .bad_o              (store_report.bad),
        .ignored_o          (store_report.ignored),
        .mismatch_o         (store_report.mismatch),
        .constant_error_o   (store_report.constant_error),
        .stall_o            (store_report.stall),
        .idle_o             (store_report.idle)
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
    assign {raw_request, m_axi_wdata, m_axi_wstrb} = '0;
    assign {corrected_request, m_axi_corrected_wdata, m_axi_corrected_wstrb, constant_request} = '0;

    logic unused_pixel;
    assign unused_pixel = ^{s_axis_pixel_tdata, s_axis_pixel_tkeep, s_axis_pixel_tlast, s_axis_pixel_tuser,
                            s_axis_pixel_tvalid, pixel_cut_i, pixel_restart_i, store, raw_response, corrected_response,
                            constant_response, m_axi_constant_rdata};
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
