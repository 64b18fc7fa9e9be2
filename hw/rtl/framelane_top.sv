// All of it: a detector's pixels in, RoCEv2 packets at the MAC out, each side with its own clock. Wiring only.
//
//   pixels -> [cdc_axis] -> tx_stream -> [mac_port] -> MAC
//                           ^      ^--- [mac_port] <--'
//   registers -> [cdc_axil]-'      '--> [cdc_axi_*] -> memory
//        '-> [time_unit]: a clock that PTP sets; stamps of frames, of packets at the MAC, of edges
//
// clk is the core's clock; with the parameter of another clock 0, that side's is the core's as well, and nothing is built between them.
// Each reset is of its own clock. Those of the core and the memory come together: mac.md in docs/explanation.
module framelane_top
  import axi_pkg::*;
  import framelane_pkg::*;
  import jf_pkg::PLANES;
#(
    parameter int unsigned DataW         = 512,
    parameter int unsigned AddrW         = 64,
    parameter int unsigned IdW           = 1,
    parameter int unsigned NumQp         = 16,
    parameter int unsigned Flows         = 4,
    parameter int unsigned Destinations  = 16,
    parameter bit          Store         = 1'b1,         // 0: no pixels: frames come that lie in memory already
    parameter int unsigned MaxSlots      = 1024,         // of the frame store
    parameter bit          Correct       = 1'b1,         // JUNGFRAU correction, where the registers switch it on
    parameter int unsigned ReadDepth     = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ReadBeats     = 512,          // for which it has room
    parameter int unsigned MaxBurst      = 256,          // beats of the longest burst on any port: 16 for HBM and AXI3
    parameter int unsigned ClockHz       = 250_000_000,  // of clk
    parameter int unsigned Build         = 0,
    parameter bit          Station       = 1'b1,         // receive path: ARP, ping, pauses
    parameter bit          Rc            = 1'b1,         // QPs may be of RC; needs Station
    parameter int unsigned RcQps         = 16,           // the first of the table; a power of two, 2 or more
    parameter int unsigned RcDepth       = 64,           // descriptors of each that are kept; a power of two
    parameter int unsigned RcAhead       = 384,          // beats read ahead, if Rc: cycles of the memory's latency
    parameter bit          MacPort       = 1'b1,         // 0: packets as they come, in clk; MacW is DataW
    parameter int unsigned MacW          = 512,          // 8 to 512
    parameter int unsigned MaxBytes      = 4200,         // mac_port: of the largest packet
    parameter int unsigned MinBytes      = 60,           // mac_port: what is sent is filled up to
    parameter int unsigned GapCycles     = 0,            // mac_port: between two packets
    parameter bit          PixelClock    = 1'b1,
    parameter bit          MemoryClock   = 1'b1,
    parameter bit          RegisterClock = 1'b1,
    parameter bit          MacClock      = 1'b1,
    parameter bit          Time          = 1'b0,         // a clock that PTP sets: docs/integrating/time.md
    parameter bit          TimeServo     = 1'b0,         // and pulses per second keep, without software

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned MacKeepW = MacW / 8
) (
    input logic clk,
    input logic rst,

    // AXI4-Lite: the registers (docs/reference/registers.md)
    input logic register_clk,
    input logic register_rst,

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
    input logic pixel_clk,
    input logic pixel_rst,

    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,   // with the first beat
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,

    // Frames that lie complete in memory, in clk, as of tx: without Store
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,
    output logic   release_o,            // pulse

    // AXI4: the memory
    input logic memory_clk,
    input logic memory_rst,

    // Raw images are written
    output logic   [IdW-1:0] m_axi_awid,
    output logic [AddrW-1:0] m_axi_awaddr,
    output logic       [7:0] m_axi_awlen,
    output logic       [2:0] m_axi_awsize,
    output logic       [1:0] m_axi_awburst,
    output logic       [3:0] m_axi_awcache,
    output logic       [2:0] m_axi_awprot,
    output logic             m_axi_awvalid,
    input  logic             m_axi_awready,
    output logic [DataW-1:0] m_axi_wdata,
    output logic [KeepW-1:0] m_axi_wstrb,
    output logic             m_axi_wlast,
    output logic             m_axi_wvalid,
    input  logic             m_axi_wready,
    input  logic   [IdW-1:0] m_axi_bid,
    input  logic       [1:0] m_axi_bresp,
    input  logic             m_axi_bvalid,
    output logic             m_axi_bready,

    // Corrected images are written
    output logic   [IdW-1:0] m_axi_corrected_awid,
    output logic [AddrW-1:0] m_axi_corrected_awaddr,
    output logic       [7:0] m_axi_corrected_awlen,
    output logic       [2:0] m_axi_corrected_awsize,
    output logic       [1:0] m_axi_corrected_awburst,
    output logic       [3:0] m_axi_corrected_awcache,
    output logic       [2:0] m_axi_corrected_awprot,
    output logic             m_axi_corrected_awvalid,
    input  logic             m_axi_corrected_awready,
    output logic [DataW-1:0] m_axi_corrected_wdata,
    output logic [KeepW-1:0] m_axi_corrected_wstrb,
    output logic             m_axi_corrected_wlast,
    output logic             m_axi_corrected_wvalid,
    input  logic             m_axi_corrected_wready,
    input  logic   [IdW-1:0] m_axi_corrected_bid,
    input  logic       [1:0] m_axi_corrected_bresp,
    input  logic             m_axi_corrected_bvalid,
    output logic             m_axi_corrected_bready,

    // The planes of the constants are read
    output logic   [PLANES-1:0][IdW-1:0] m_axi_constant_arid,
    output logic [PLANES-1:0][AddrW-1:0] m_axi_constant_araddr,
    output logic       [PLANES-1:0][7:0] m_axi_constant_arlen,
    output logic       [PLANES-1:0][2:0] m_axi_constant_arsize,
    output logic       [PLANES-1:0][1:0] m_axi_constant_arburst,
    output logic       [PLANES-1:0][3:0] m_axi_constant_arcache,
    output logic       [PLANES-1:0][2:0] m_axi_constant_arprot,
    output logic            [PLANES-1:0] m_axi_constant_arvalid,
    input  logic            [PLANES-1:0] m_axi_constant_arready,
    input  logic   [PLANES-1:0][IdW-1:0] m_axi_constant_rid,
    input  logic [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,
    input  logic       [PLANES-1:0][1:0] m_axi_constant_rresp,
    input  logic            [PLANES-1:0] m_axi_constant_rlast,
    input  logic            [PLANES-1:0] m_axi_constant_rvalid,
    output logic            [PLANES-1:0] m_axi_constant_rready,

    // Frames are read
    output logic   [IdW-1:0] m_axi_arid,
    output logic [AddrW-1:0] m_axi_araddr,
    output logic       [7:0] m_axi_arlen,
    output logic       [2:0] m_axi_arsize,
    output logic       [1:0] m_axi_arburst,
    output logic       [3:0] m_axi_arcache,
    output logic       [2:0] m_axi_arprot,
    output logic             m_axi_arvalid,
    input  logic             m_axi_arready,
    input  logic   [IdW-1:0] m_axi_rid,
    input  logic [DataW-1:0] m_axi_rdata,
    input  logic       [1:0] m_axi_rresp,
    input  logic             m_axi_rlast,
    input  logic             m_axi_rvalid,
    output logic             m_axi_rready,

    // Ethernet frames without FCS to the MAC; in clk without MacPort
    input logic tx_clk,
    input logic tx_rst,

    output logic [    MacW-1:0] m_axis_tdata,
    output logic [MacKeepW-1:0] m_axis_tkeep,
    output logic                m_axis_tlast,
    output logic                m_axis_tuser,   // with tlast: its FCS is to be wrong
    output logic                m_axis_tvalid,
    input  logic                m_axis_tready,

    // Ethernet frames without FCS from the MAC, which cannot wait; without Station they are swallowed
    input logic rx_clk,
    input logic rx_rst,

    input logic [    MacW-1:0] s_axis_rx_tdata,
    input logic [MacKeepW-1:0] s_axis_rx_tkeep,
    input logic                s_axis_rx_tlast,
    input logic                s_axis_rx_tuser,   // with tlast: wrong FCS, or cut
    input logic                s_axis_rx_tvalid,
    input logic                link_up_i,         // of any clock

    // The clock's edges: with Time
    input  logic trigger_i,  // of any clock, high and low for two cycles of clk at least
    input  logic pps_i,      // likewise: pulses per second
    output logic pps_o,      // in clk: high for the first tenth of a second

    output logic interrupt_o,  // in register_clk: a bit of errors is set that interrupt_mask asks for
    output logic idle_o        // in clk: nothing is under way, but packets in mac_port, and memory owes nothing
);

  if (!MacPort && MacW != DataW) begin : gen_check_width
    $error("%m: without MacPort, MacW = %0d must be DataW", MacW);
  end

  logic link_up;

  cdc_bits u_link (
      .clk,
      .bits_i(link_up_i),
      .bits_o(link_up)
  );

  // Registers
  axil_request_t axil_request, core_axil_request, tx_axil_request;
  axil_response_t axil_response, core_axil_response, tx_axil_response;

  assign axil_request = '{
          awaddr: s_axil_awaddr, awprot: s_axil_awprot, awvalid: s_axil_awvalid,
          wdata: s_axil_wdata, wstrb: s_axil_wstrb, wvalid: s_axil_wvalid, bready: s_axil_bready,
          araddr: s_axil_araddr, arprot: s_axil_arprot, arvalid: s_axil_arvalid, rready: s_axil_rready
      };
  assign s_axil_awready = axil_response.awready;
  assign s_axil_wready = axil_response.wready;
  assign s_axil_bresp = axil_response.bresp;
  assign s_axil_bvalid = axil_response.bvalid;
  assign s_axil_arready = axil_response.arready;
  assign s_axil_rdata = axil_response.rdata;
  assign s_axil_rresp = axil_response.rresp;
  assign s_axil_rvalid = axil_response.rvalid;

  logic core_interrupt;

  if (RegisterClock) begin : gen_register_clock
    cdc_bits u_interrupt (
        .clk   (register_clk),
        .bits_i(core_interrupt),
        .bits_o(interrupt_o)
    );

    cdc_axil u_registers (
        .s_clk   (register_clk),
        .s_rst   (register_rst),
        .s_axil_i(axil_request),
        .s_axil_o(axil_response),
        .m_clk   (clk),
        .m_rst   (rst),
        .m_axil_o(core_axil_request),
        .m_axil_i(core_axil_response)
    );
  end else begin : gen_no_register_clock
    assign core_axil_request = axil_request;
    assign axil_response = core_axil_response;
    assign interrupt_o = core_interrupt;

    logic unused;
    assign unused = ^{register_clk, register_rst};
  end

  // Pixels. Without a clock their time_flags, the first of what comes with them, are 0.
  localparam int unsigned INFO_W = $bits(frame_info_t) - (Time ? 0 : 32);

  logic [DataW-1:0] pixel_tdata;
  logic [KeepW-1:0] pixel_tkeep;
  frame_info_t pixel_tuser, stamped_tuser;
  logic pixel_tlast, pixel_tvalid, pixel_tready, pixel_cut, pixel_restart;

  if (Store && PixelClock) begin : gen_pixel_clock
    logic [INFO_W-1:0] crossed_tuser;

    cdc_axis #(
        .DataW(KeepW + INFO_W + DataW)
    ) u_pixels (
        .s_clk        (pixel_clk),
        .s_rst        (pixel_rst),
        .s_axis_tdata ({s_axis_pixel_tkeep, INFO_W'(stamped_tuser), s_axis_pixel_tdata}),
        .s_axis_tlast (s_axis_pixel_tlast),
        .s_axis_tvalid(s_axis_pixel_tvalid),
        .s_axis_tready(s_axis_pixel_tready),
        .m_clk        (clk),
        .m_rst        (rst),
        .m_axis_tdata ({pixel_tkeep, crossed_tuser, pixel_tdata}),
        .m_axis_tlast (pixel_tlast),
        .m_axis_tuser (pixel_cut),
        .m_axis_tvalid(pixel_tvalid),
        .m_axis_tready(pixel_tready)
    );

    assign pixel_tuser = $bits(frame_info_t)'(crossed_tuser);
    assign pixel_restart = rst;

    logic unused_flags;
    assign unused_flags = ^stamped_tuser.time_flags;
  end else begin : gen_no_pixel_clock
    assign pixel_tdata = s_axis_pixel_tdata;
    assign pixel_tkeep = s_axis_pixel_tkeep;
    assign pixel_tlast = s_axis_pixel_tlast;
    assign pixel_tuser = stamped_tuser;
    assign pixel_tvalid = s_axis_pixel_tvalid;
    assign pixel_cut = 1'b0;
    assign pixel_restart = 1'b0;  // the rest of a packet comes
    assign s_axis_pixel_tready = pixel_tready;

    logic unused;
    assign unused = ^{pixel_clk, pixel_rst};
  end

  // Memory: data return in order
  axi_write_request_t raw_request, core_raw_request;
  axi_write_response_t raw_response, core_raw_response;
  logic [AddrW-1:0] core_raw_awaddr;
  logic [DataW-1:0] core_raw_wdata;
  logic [KeepW-1:0] core_raw_wstrb;

  assign raw_response = '{
          awready: m_axi_awready,
          wready: m_axi_wready,
          bresp: m_axi_bresp,
          bvalid: m_axi_bvalid
      };
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
  assign core_raw_request.awaddr = 64'(core_raw_awaddr);

  cdc_axi_write #(
      .DataW(DataW),
      .Cross(MemoryClock && Store)
  ) u_raw (
      .s_clk      (clk),
      .s_rst      (rst),
      .s_axi_i    (core_raw_request),
      .s_axi_o    (core_raw_response),
      .s_axi_wdata(core_raw_wdata),
      .s_axi_wstrb(core_raw_wstrb),
      .m_clk      (memory_clk),
      .m_rst      (memory_rst),
      .m_axi_o    (raw_request),
      .m_axi_i    (raw_response),
      .m_axi_wdata(m_axi_wdata),
      .m_axi_wstrb(m_axi_wstrb)
  );

  axi_write_request_t corrected_request, core_corrected_request;
  axi_write_response_t corrected_response, core_corrected_response;
  logic [AddrW-1:0] core_corrected_awaddr;
  logic [DataW-1:0] core_corrected_wdata;
  logic [KeepW-1:0] core_corrected_wstrb;

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
  assign core_corrected_request.awaddr = 64'(core_corrected_awaddr);

  cdc_axi_write #(
      .DataW(DataW),
      .Cross(MemoryClock && Correct)
  ) u_corrected (
      .s_clk      (clk),
      .s_rst      (rst),
      .s_axi_i    (core_corrected_request),
      .s_axi_o    (core_corrected_response),
      .s_axi_wdata(core_corrected_wdata),
      .s_axi_wstrb(core_corrected_wstrb),
      .m_clk      (memory_clk),
      .m_rst      (memory_rst),
      .m_axi_o    (corrected_request),
      .m_axi_i    (corrected_response),
      .m_axi_wdata(m_axi_corrected_wdata),
      .m_axi_wstrb(m_axi_corrected_wstrb)
  );

  axi_read_request_t read_request, core_read_request;
  axi_read_response_t read_response, core_read_response;
  logic [AddrW-1:0] core_read_araddr;
  logic [DataW-1:0] core_read_rdata;

  assign read_response = '{arready: m_axi_arready, rresp: m_axi_rresp, rlast: m_axi_rlast, rvalid: m_axi_rvalid};
  assign m_axi_arid = '0;
  assign m_axi_araddr = AddrW'(read_request.araddr);
  assign m_axi_arlen = read_request.arlen;
  assign m_axi_arsize = read_request.arsize;
  assign m_axi_arburst = read_request.arburst;
  assign m_axi_arcache = read_request.arcache;
  assign m_axi_arprot = read_request.arprot;
  assign m_axi_arvalid = read_request.arvalid;
  assign m_axi_rready = read_request.rready;
  assign core_read_request.araddr = 64'(core_read_araddr);

  cdc_axi_read #(
      .DataW(DataW),
      .Cross(MemoryClock)
  ) u_read (
      .s_clk      (clk),
      .s_rst      (rst),
      .s_axi_i    (core_read_request),
      .s_axi_o    (core_read_response),
      .s_axi_rdata(core_read_rdata),
      .m_clk      (memory_clk),
      .m_rst      (memory_rst),
      .m_axi_o    (read_request),
      .m_axi_i    (read_response),
      .m_axi_rdata
  );

  axi_read_request_t [PLANES-1:0] constant_request, core_constant_request;
  axi_read_response_t [PLANES-1:0] constant_response, core_constant_response;
  logic [PLANES-1:0][AddrW-1:0] core_constant_araddr;
  logic [PLANES-1:0][7:0] core_constant_arlen;
  logic [PLANES-1:0][2:0] core_constant_arsize, core_constant_arprot;
  logic [PLANES-1:0][1:0] core_constant_arburst, core_constant_rresp;
  logic [PLANES-1:0][3:0] core_constant_arcache;
  logic [PLANES-1:0][DataW-1:0] core_constant_rdata;
  logic [PLANES-1:0] core_constant_arvalid, core_constant_arready;
  logic [PLANES-1:0] core_constant_rlast, core_constant_rvalid, core_constant_rready;

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

    assign core_constant_request[k] = '{
            araddr: 64'(core_constant_araddr[k]), arlen: core_constant_arlen[k], arsize: core_constant_arsize[k],
            arburst: core_constant_arburst[k], arcache: core_constant_arcache[k], arprot: core_constant_arprot[k],
            arvalid: core_constant_arvalid[k], rready: core_constant_rready[k]
        };
    assign core_constant_arready[k] = core_constant_response[k].arready;
    assign core_constant_rresp[k] = core_constant_response[k].rresp;
    assign core_constant_rlast[k] = core_constant_response[k].rlast;
    assign core_constant_rvalid[k] = core_constant_response[k].rvalid;

    cdc_axi_read #(
        .DataW(DataW),
        .Cross(MemoryClock && Correct)
    ) u_constants (
        .s_clk      (clk),
        .s_rst      (rst),
        .s_axi_i    (core_constant_request[k]),
        .s_axi_o    (core_constant_response[k]),
        .s_axi_rdata(core_constant_rdata[k]),
        .m_clk      (memory_clk),
        .m_rst      (memory_rst),
        .m_axi_o    (constant_request[k]),
        .m_axi_i    (constant_response[k]),
        .m_axi_rdata(m_axi_constant_rdata[k])
    );
  end

  // The transmitter
  logic [DataW-1:0] packet_tdata, core_tdata, core_rx_tdata;
  logic [KeepW-1:0] packet_tkeep, core_tkeep, core_rx_tkeep;
  logic packet_tlast, packet_tvalid, packet_tready, core_tlast, core_tvalid, core_tready;
  logic core_rx_tlast, core_rx_tuser, core_rx_tvalid;
  logic [15:0] threshold;
  mac_report_t mac_report;
  logic [1:0][IdW-1:0] unused_awid;
  logic [PLANES-1:0][IdW-1:0] unused_constant_arid;
  logic [IdW-1:0] unused_arid;

  tx_stream #(
      .DataW       (DataW),
      .AddrW       (AddrW),
      .IdW         (IdW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .Store       (Store),
      .MaxSlots    (MaxSlots),
      .TimeFlags   (Time),
      .Correct     (Correct),
      .ReadDepth   (ReadDepth),
      .ReadBeats   (ReadBeats),
      .MaxBurst    (MaxBurst),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .Station     (Station),
      .Rc          (Rc),
      .RcQps       (RcQps),
      .RcDepth     (RcDepth),
      .RcAhead     (RcAhead),
      .MacPort     (MacPort)
  ) u_tx (
      .clk,
      .rst,
      .s_axil_awaddr          (tx_axil_request.awaddr),
      .s_axil_awprot          (tx_axil_request.awprot),
      .s_axil_awvalid         (tx_axil_request.awvalid),
      .s_axil_wdata           (tx_axil_request.wdata),
      .s_axil_wstrb           (tx_axil_request.wstrb),
      .s_axil_wvalid          (tx_axil_request.wvalid),
      .s_axil_bready          (tx_axil_request.bready),
      .s_axil_araddr          (tx_axil_request.araddr),
      .s_axil_arprot          (tx_axil_request.arprot),
      .s_axil_arvalid         (tx_axil_request.arvalid),
      .s_axil_rready          (tx_axil_request.rready),
      .s_axil_awready         (tx_axil_response.awready),
      .s_axil_wready          (tx_axil_response.wready),
      .s_axil_bresp           (tx_axil_response.bresp),
      .s_axil_bvalid          (tx_axil_response.bvalid),
      .s_axil_arready         (tx_axil_response.arready),
      .s_axil_rdata           (tx_axil_response.rdata),
      .s_axil_rresp           (tx_axil_response.rresp),
      .s_axil_rvalid          (tx_axil_response.rvalid),
      .s_axis_pixel_tdata     (pixel_tdata),
      .s_axis_pixel_tkeep     (pixel_tkeep),
      .s_axis_pixel_tlast     (pixel_tlast),
      .s_axis_pixel_tuser     (pixel_tuser),
      .s_axis_pixel_tvalid    (pixel_tvalid),
      .s_axis_pixel_tready    (pixel_tready),
      .pixel_cut_i            (pixel_cut),
      .pixel_restart_i        (pixel_restart),
      .s_axis_frame_tdata,
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .release_o,
      .m_axi_awid             (unused_awid[0]),
      .m_axi_awaddr           (core_raw_awaddr),
      .m_axi_awlen            (core_raw_request.awlen),
      .m_axi_awsize           (core_raw_request.awsize),
      .m_axi_awburst          (core_raw_request.awburst),
      .m_axi_awcache          (core_raw_request.awcache),
      .m_axi_awprot           (core_raw_request.awprot),
      .m_axi_awvalid          (core_raw_request.awvalid),
      .m_axi_awready          (core_raw_response.awready),
      .m_axi_wdata            (core_raw_wdata),
      .m_axi_wstrb            (core_raw_wstrb),
      .m_axi_wlast            (core_raw_request.wlast),
      .m_axi_wvalid           (core_raw_request.wvalid),
      .m_axi_wready           (core_raw_response.wready),
      .m_axi_bid              ('0),
      .m_axi_bresp            (core_raw_response.bresp),
      .m_axi_bvalid           (core_raw_response.bvalid),
      .m_axi_bready           (core_raw_request.bready),
      .m_axi_corrected_awid   (unused_awid[1]),
      .m_axi_corrected_awaddr (core_corrected_awaddr),
      .m_axi_corrected_awlen  (core_corrected_request.awlen),
      .m_axi_corrected_awsize (core_corrected_request.awsize),
      .m_axi_corrected_awburst(core_corrected_request.awburst),
      .m_axi_corrected_awcache(core_corrected_request.awcache),
      .m_axi_corrected_awprot (core_corrected_request.awprot),
      .m_axi_corrected_awvalid(core_corrected_request.awvalid),
      .m_axi_corrected_awready(core_corrected_response.awready),
      .m_axi_corrected_wdata  (core_corrected_wdata),
      .m_axi_corrected_wstrb  (core_corrected_wstrb),
      .m_axi_corrected_wlast  (core_corrected_request.wlast),
      .m_axi_corrected_wvalid (core_corrected_request.wvalid),
      .m_axi_corrected_wready (core_corrected_response.wready),
      .m_axi_corrected_bid    ('0),
      .m_axi_corrected_bresp  (core_corrected_response.bresp),
      .m_axi_corrected_bvalid (core_corrected_response.bvalid),
      .m_axi_corrected_bready (core_corrected_request.bready),
      .m_axi_constant_arid    (unused_constant_arid),
      .m_axi_constant_araddr  (core_constant_araddr),
      .m_axi_constant_arlen   (core_constant_arlen),
      .m_axi_constant_arsize  (core_constant_arsize),
      .m_axi_constant_arburst (core_constant_arburst),
      .m_axi_constant_arcache (core_constant_arcache),
      .m_axi_constant_arprot  (core_constant_arprot),
      .m_axi_constant_arvalid (core_constant_arvalid),
      .m_axi_constant_arready (core_constant_arready),
      .m_axi_constant_rid     ('0),
      .m_axi_constant_rdata   (core_constant_rdata),
      .m_axi_constant_rresp   (core_constant_rresp),
      .m_axi_constant_rlast   (core_constant_rlast),
      .m_axi_constant_rvalid  (core_constant_rvalid),
      .m_axi_constant_rready  (core_constant_rready),
      .m_axi_arid             (unused_arid),
      .m_axi_araddr           (core_read_araddr),
      .m_axi_arlen            (core_read_request.arlen),
      .m_axi_arsize           (core_read_request.arsize),
      .m_axi_arburst          (core_read_request.arburst),
      .m_axi_arcache          (core_read_request.arcache),
      .m_axi_arprot           (core_read_request.arprot),
      .m_axi_arvalid          (core_read_request.arvalid),
      .m_axi_arready          (core_read_response.arready),
      .m_axi_rid              ('0),
      .m_axi_rdata            (core_read_rdata),
      .m_axi_rresp            (core_read_response.rresp),
      .m_axi_rlast            (core_read_response.rlast),
      .m_axi_rvalid           (core_read_response.rvalid),
      .m_axi_rready           (core_read_request.rready),
      .m_axis_tdata           (packet_tdata),
      .m_axis_tkeep           (packet_tkeep),
      .m_axis_tlast           (packet_tlast),
      .m_axis_tvalid          (packet_tvalid),
      .m_axis_tready          (packet_tready),
      .s_axis_rx_tdata        (core_rx_tdata),
      .s_axis_rx_tkeep        (core_rx_tkeep),
      .s_axis_rx_tlast        (core_rx_tlast),
      .s_axis_rx_tuser        (core_rx_tuser),
      .s_axis_rx_tvalid       (core_rx_tvalid),
      .link_up_i              (link_up),
      .mac_threshold_o        (threshold),
      .mac_i                  (mac_report),
      .interrupt_o            (core_interrupt),
      .idle_o
  );

  logic unused;
  assign unused = ^{unused_awid, unused_constant_arid, unused_arid, m_axi_bid, m_axi_corrected_bid, m_axi_rid,
                    m_axi_constant_rid};

  // The MAC's clocks
  logic mac_tx_clk, mac_rx_clk, mac_tx_rst, mac_rx_rst;

  if (MacPort && MacClock) begin : gen_mac_clocks
    assign mac_tx_clk = tx_clk;
    assign mac_tx_rst = tx_rst;
    assign mac_rx_clk = rx_clk;
    assign mac_rx_rst = rx_rst;
  end else begin : gen_no_mac_clocks
    assign mac_tx_clk = clk;
    assign mac_tx_rst = rst;
    assign mac_rx_clk = clk;
    assign mac_rx_rst = rst;

    logic unused_clocks;
    assign unused_clocks = ^{tx_clk, tx_rst, rx_clk, rx_rst};
  end

  // The clock that PTP sets. Its messages go between the core's packets.
  if (Time) begin : gen_time
    axil_request_t [1:0] both_request;
    axil_response_t [1:0] both_response;
    logic [DataW-1:0] message_tdata;
    logic [KeepW-1:0] message_tkeep;
    logic message_tlast, message_tvalid, message_tready, stamp_clk, stamp_rst;
    logic unused_tuser, unused_idle;

    axil_both u_both (
        .s_axil_i(core_axil_request),
        .s_axil_o(core_axil_response),
        .m_axil_o(both_request),
        .m_axil_i(both_response)
    );

    assign tx_axil_request = both_request[0];
    assign both_response[0] = tx_axil_response;

    if (Store && PixelClock) begin : gen_stamp_clock
      assign stamp_clk = pixel_clk;
      assign stamp_rst = pixel_rst;
    end else begin : gen_no_stamp_clock
      assign stamp_clk = clk;
      assign stamp_rst = rst;
    end

    time_unit #(
        .DataW     (DataW),
        .MacW      (MacW),
        .ClockHz   (ClockHz),
        .Frames    (Store),
        .Servo     (TimeServo),
        .MacClock  (MacPort && MacClock),
        .PixelClock(Store && PixelClock)
    ) u_time (
        .clk,
        .rst,
        .s_axil_i      (both_request[1]),
        .s_axil_o      (both_response[1]),
        .trigger_i,
        .pps_i,
        .pps_o,
        .m_axis_tdata  (message_tdata),
        .m_axis_tkeep  (message_tkeep),
        .m_axis_tlast  (message_tlast),
        .m_axis_tvalid (message_tvalid),
        .m_axis_tready (message_tready),
        .tx_clk        (mac_tx_clk),
        .tx_rst        (mac_tx_rst),
        .tx_tdata_i    (m_axis_tdata),
        .tx_tkeep_i    (m_axis_tkeep),
        .tx_tlast_i    (m_axis_tlast),
        .tx_tuser_i    (m_axis_tuser),
        .tx_taken_i    (m_axis_tvalid && m_axis_tready),
        .rx_clk        (mac_rx_clk),
        .rx_rst        (mac_rx_rst),
        .rx_tdata_i    (s_axis_rx_tdata),
        .rx_tkeep_i    (s_axis_rx_tkeep),
        .rx_tlast_i    (s_axis_rx_tlast),
        .rx_tuser_i    (s_axis_rx_tuser),
        .rx_taken_i    (s_axis_rx_tvalid),
        .pixel_clk     (stamp_clk),
        .pixel_rst     (stamp_rst),
        .pixel_tvalid_i(s_axis_pixel_tvalid),
        .pixel_tready_i(s_axis_pixel_tready),
        .pixel_tlast_i (s_axis_pixel_tlast),
        .pixel_info_i  (s_axis_pixel_tuser),
        .pixel_info_o  (stamped_tuser)
    );

    packet_merge #(
        .DataW       (DataW),
        .ControlBytes(128)
    ) u_merge (
        .clk,
        .rst,
        .hold_data_i          (1'b0),
        .hold_control_i       (1'b0),
        .s_axis_data_tdata    (packet_tdata),
        .s_axis_data_tkeep    (packet_tkeep),
        .s_axis_data_tlast    (packet_tlast),
        .s_axis_data_tuser    (1'b0),
        .s_axis_data_tvalid   (packet_tvalid),
        .s_axis_data_tready   (packet_tready),
        .s_axis_control_tdata (message_tdata),
        .s_axis_control_tkeep (message_tkeep),
        .s_axis_control_tlast (message_tlast),
        .s_axis_control_tuser (1'b0),
        .s_axis_control_tvalid(message_tvalid),
        .s_axis_control_tready(message_tready),
        .m_axis_tdata         (core_tdata),
        .m_axis_tkeep         (core_tkeep),
        .m_axis_tlast         (core_tlast),
        .m_axis_tuser         (unused_tuser),
        .m_axis_tvalid        (core_tvalid),
        .m_axis_tready        (core_tready),
        .idle_o               (unused_idle)
    );
  end else begin : gen_no_time
    assign tx_axil_request = core_axil_request;
    assign core_axil_response = tx_axil_response;

    always_comb begin
      stamped_tuser = s_axis_pixel_tuser;
      stamped_tuser.time_flags = '0;
    end

    assign core_tdata = packet_tdata;
    assign core_tkeep = packet_tkeep;
    assign core_tlast = packet_tlast;
    assign core_tvalid = packet_tvalid;
    assign packet_tready = core_tready;
    assign pps_o = 1'b0;

    logic unused_edges;
    assign unused_edges = ^{trigger_i, pps_i};
  end

  // The MAC
  if (MacPort) begin : gen_mac
    mac_port #(
        .DataW    (DataW),
        .MacW     (MacW),
        .MaxBytes (MaxBytes),
        .MinBytes (MinBytes),
        .GapCycles(GapCycles)
    ) u_mac (
        .clk,
        .rst,
        .s_axis_tdata    (core_tdata),
        .s_axis_tkeep    (core_tkeep),
        .s_axis_tlast    (core_tlast),
        .s_axis_tvalid   (core_tvalid),
        .s_axis_tready   (core_tready),
        .m_axis_rx_tdata (core_rx_tdata),
        .m_axis_rx_tkeep (core_rx_tkeep),
        .m_axis_rx_tlast (core_rx_tlast),
        .m_axis_rx_tuser (core_rx_tuser),
        .m_axis_rx_tvalid(core_rx_tvalid),
        .m_axis_rx_tready(1'b1),
        .threshold_i     (threshold),
        .tx_underrun_o   (mac_report.tx_underrun),
        .tx_too_long_o   (mac_report.tx_too_long),
        .rx_bad_o        (mac_report.rx_bad),
        .rx_lost_o       (mac_report.rx_lost),
        .tx_clk          (mac_tx_clk),
        .tx_rst          (mac_tx_rst),
        .m_axis_tdata,
        .m_axis_tkeep,
        .m_axis_tlast,
        .m_axis_tuser,
        .m_axis_tvalid,
        .m_axis_tready,
        .rx_clk          (mac_rx_clk),
        .rx_rst          (mac_rx_rst),
        .s_axis_rx_tdata,
        .s_axis_rx_tkeep,
        .s_axis_rx_tlast,
        .s_axis_rx_tuser,
        .s_axis_rx_tvalid
    );
  end else begin : gen_no_mac
    assign m_axis_tdata = MacW'(core_tdata);
    assign m_axis_tkeep = MacKeepW'(core_tkeep);
    assign m_axis_tlast = core_tlast;
    assign m_axis_tuser = 1'b0;
    assign m_axis_tvalid = core_tvalid;
    assign core_tready = m_axis_tready;
    assign core_rx_tdata = DataW'(s_axis_rx_tdata);
    assign core_rx_tkeep = KeepW'(s_axis_rx_tkeep);
    assign core_rx_tlast = s_axis_rx_tlast;
    assign core_rx_tuser = s_axis_rx_tuser;
    assign core_rx_tvalid = s_axis_rx_tvalid;
    assign mac_report = '0;

    logic unused_mac;
    assign unused_mac = ^{threshold, mac_tx_clk, mac_tx_rst, mac_rx_clk, mac_rx_rst};
  end

  if (!MemoryClock) begin : gen_no_memory_clock
    logic unused_memory;
    assign unused_memory = ^{memory_clk, memory_rst};
  end

endmodule
