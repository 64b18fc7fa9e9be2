// The transmitter behind a frame store: pixels of a detector in as a stream, RoCEv2 packets out. Wiring only.
//
//   pixels -> frame_store -> memory -> tx -> packets
//                  '------- frames ----^
module tx_stream
  import framelane_pkg::*;
#(
    parameter int unsigned DataW        = 512,
    parameter int unsigned AddrW        = 64,
    parameter int unsigned IdW          = 1,
    parameter int unsigned NumQp        = 16,
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter int unsigned MaxSlots     = 1024,         // of the frame store
    parameter int unsigned ReadDepth    = 64,           // transfers that the memory reader runs ahead
    parameter int unsigned ClockHz      = 250_000_000,
    parameter int unsigned Build        = 0,

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

    // Pixels: one packet a frame
    input  logic        [DataW-1:0] s_axis_pixel_tdata,
    input  logic        [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic                    s_axis_pixel_tlast,
    input  frame_info_t             s_axis_pixel_tuser,   // with the first beat
    input  logic                    s_axis_pixel_tvalid,
    output logic                    s_axis_pixel_tready,

    // AXI4 write master: the frame memory, the same as above
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

  frame_t frame_tdata;
  logic frame_tvalid, frame_tready, release_frame;
  logic store_rst, store_armed, store_abort, store_idle, store_lost, store_bad, store_ignored;
  logic [63:0] store_base;
  logic [31:0] store_slot_bytes;
  logic [15:0] store_slots;

  frame_store #(
      .DataW   (DataW),
      .AddrW   (AddrW),
      .IdW     (IdW),
      .MaxSlots(MaxSlots)
  ) u_store (
      .clk,
      .rst                (store_rst),
      .base_i             (store_base),
      .slot_bytes_i       (store_slot_bytes),
      .slots_i            (store_slots),
      .armed_i            (store_armed),
      .abort_i            (store_abort),
      .s_axis_pixel_tdata,
      .s_axis_pixel_tkeep,
      .s_axis_pixel_tlast,
      .s_axis_pixel_tuser,
      .s_axis_pixel_tvalid,
      .s_axis_pixel_tready,
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
      .m_axis_frame_tdata (frame_tdata),
      .m_axis_frame_tvalid(frame_tvalid),
      .m_axis_frame_tready(frame_tready),
      .release_i          (release_frame),
      .lost_o             (store_lost),
      .bad_o              (store_bad),
      .ignored_o          (store_ignored),
      .idle_o             (store_idle)
  );

  tx #(
      .DataW       (DataW),
      .AddrW       (AddrW),
      .IdW         (IdW),
      .NumQp       (NumQp),
      .Flows       (Flows),
      .Destinations(Destinations),
      .ReadDepth   (ReadDepth),
      .ClockHz     (ClockHz),
      .Build       (Build),
      .FrameStore  (1'b1)
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
      .store_rst_o        (store_rst),
      .store_armed_o      (store_armed),
      .store_abort_o      (store_abort),
      .store_base_o       (store_base),
      .store_slot_bytes_o (store_slot_bytes),
      .store_slots_o      (store_slots),
      .store_idle_i       (store_idle),
      .store_lost_i       (store_lost),
      .store_bad_i        (store_bad),
      .store_ignored_i    (store_ignored),
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
      .idle_o
  );

endmodule
