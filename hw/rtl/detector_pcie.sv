// A detector's own UDP packets into the ring in a host's or a GPU's memory, over PCIe: no network behind the FPGA, and no processor in
// the way. Each packet is written to its own place, each frame that is over has an event. Wiring only; whoever instantiates it has
// registers for its inputs (docs/integrating/detector.md).
//
//   frames from the MAC -> detector_core -> messages -------------> pcie_engine -> TLPs
//                                '--------> payload -> det_whole ---'
module detector_pcie
  import det_pkg::*;
  import framelane_pkg::bd_t;
  import pcie_pkg::*;
  import roce_pkg::message_t;
#(
    parameter int unsigned DataW       = 512,   // 128, 256 or 512
    parameter int unsigned Entries     = 8192,  // of the page map
    parameter int unsigned HeaderBytes = 48,
    parameter int unsigned PacketBytes = 8192,  // of pixels
    parameter int unsigned Packets     = 128,   // of a module's frame
    parameter int unsigned Modules     = 8,     // at most
    parameter int unsigned Depth       = 0,     // beats that wait; 0: four packets

    // The detector's description, as of det_header
    parameter logic [31:0]      FrameField    = {16'd0, 8'd8, 8'd0},
    parameter logic [31:0]      PacketField   = {16'd12, 8'd4, 8'd0},
    parameter int unsigned      FirstPacket   = 0,
    parameter logic [31:0]      ModuleField   = '0,
    parameter int unsigned      FirstModule   = 0,
    parameter logic [31:0]      BunchField    = {16'd16, 8'd8, 8'd0},
    parameter logic [31:0]      TimeField     = {16'd24, 8'd8, 8'd0},
    parameter int unsigned      TimeUnit      = 100,                  // ns
    parameter logic [3:0][31:0] ConstantField = {64'd0, {16'd46, 8'd1, 8'd0}, {16'd47, 8'd1, 8'd0}},
    parameter logic [3:0][31:0] ConstantValue = {64'd0, 32'd3, 32'd2},
    parameter logic [3:0][31:0] IdentityField = {32'd0, {16'd36, 16'h200}, {16'd34, 16'h200}, {16'd32, 16'h200}},
    parameter bit               Swapped       = 1'b0,
    parameter bit               GainCode      = 1'b1,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    // As those of detector_core. The target's base is an offset in the ring, its qp has no meaning
    input target_t     target_i,
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,
    input logic [15:0] first_port_i,
    input logic        two_ports_i,
    input logic [ 7:0] modules_i,
    input logic        armed_i,
    input logic [63:0] window_end_i,
    input logic [15:0] timeout_i,
    input logic        tick_i,
    input logic        flush_i,

    // As those of pcie_engine
    input  mps_e              mps_i,
    input  logic [     4:0]   page_log2_i,
    input  logic [IndexW:0]   pages_i,
    input  logic              map_write_i,
    input  logic [IndexW-1:0] map_index_i,
    input  entry_t            map_entry_i,
    input  logic              event_enabled_i,
    input  logic [63:0]       event_base_i,
    input  logic [ 4:0]       event_log2_i,
    input  logic [31:0]       event_consumed_i,
    output logic [31:0]       event_produced_o,
    input  logic              fence_i,
    input  logic [23:0]       fence_limit_i,
    input  logic              completion_i,
    input  logic [ 4:0]       completion_tag_i,
    input  logic              completion_bad_i,
    input  logic              failed_i,

    // Frames without FCS. A MAC cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tvalid,

    output logic      [  DataW-1:0] m_axis_tlp_tdata,
    output logic      [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic                    m_axis_tlp_tlast,
    output tlp_user_t               m_axis_tlp_tuser,
    output logic                    m_axis_tlp_tvalid,
    input  logic                    m_axis_tlp_tready,

    output logic [FATES-1:0] fates_o,          // pulses, by det_fate_e
    output logic             status_valid_o,   // pulse: a write ended
    output status_e          status_o,         // how
    output logic             event_o,          // pulses, as those of pcie_engine
    output logic             event_written_o,
    output logic             event_lost_o,
    output logic             unanswered_o,
    output logic             refused_o,
    output logic             unexpected_o,
    output logic             idle_o            // no frame is under way, and no TLP
);

  message_t msg_tdata;
  bd_t bd, bd_tdata;
  logic msg_tvalid, msg_tready, bd_tvalid, bd_tready;
  logic [DataW-1:0] payload_tdata, whole_tdata;
  logic [KeepW-1:0] payload_tkeep, whole_tkeep;
  logic payload_tlast, payload_tuser, payload_tvalid, payload_tready;
  logic whole_tlast, whole_tvalid, whole_tready;
  logic core_idle, engine_idle, of_packet;

  // The reset a cycle later: copies, always equal, for the core, for the rest.
  localparam int unsigned RESETS = 2;
  (* keep, dont_merge *)logic [RESETS-1:0] rst_q = '1;

  always_ff @(posedge clk) for (int unsigned c = 0; c < RESETS; c++) if (rst_q[c] != rst) rst_q[c] <= rst;

  axi_pkg::axi_read_request_t [jf_pkg::PLANES-1:0] constant_request;  // packets go raw
  logic constant_error;

  detector_core #(
      .DataW        (DataW),
      .HeaderBytes  (HeaderBytes),
      .PacketBytes  (PacketBytes),
      .Packets      (Packets),
      .Modules      (Modules),
      .Depth        (Depth),
      .FrameField   (FrameField),
      .PacketField  (PacketField),
      .FirstPacket  (FirstPacket),
      .ModuleField  (ModuleField),
      .FirstModule  (FirstModule),
      .BunchField   (BunchField),
      .TimeField    (TimeField),
      .TimeUnit     (TimeUnit),
      .ConstantField(ConstantField),
      .ConstantValue(ConstantValue),
      .IdentityField(IdentityField),
      .Swapped      (Swapped),
      .GainCode     (GainCode)
  ) u_core (
      .clk,
      .rst             (rst_q[0]),
      .target_i,
      .local_mac_i,
      .local_ip_i,
      .first_port_i,
      .two_ports_i,
      .modules_i,
      .armed_i,
      .window_end_i,
      .timeout_i,
      .tick_i,
      .flush_i,
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .m_axis_msg_tdata     (msg_tdata),
      .m_axis_msg_tvalid    (msg_tvalid),
      .m_axis_msg_tready    (msg_tready),
      .m_axis_payload_tdata (payload_tdata),
      .m_axis_payload_tkeep (payload_tkeep),
      .m_axis_payload_tlast (payload_tlast),
      .m_axis_payload_tuser (payload_tuser),
      .m_axis_payload_tvalid(payload_tvalid),
      .m_axis_payload_tready(payload_tready),
      .correction_i         ('0),
      .m_axi_constant_o     (constant_request),
      .m_axi_constant_i     ('0),
      .m_axi_constant_rdata ('0),
      .constant_error_o     (constant_error),
      .fates_o,
      .idle_o               (core_idle)
  );

  // A message with an immediate ends a frame: its payload is the trailer, of which the event is made.
  always_comb begin
    bd = '0;
    bd.destination = msg_tdata.address;
    bd.length = msg_tdata.length;
    bd.last = msg_tdata.imm_valid;
  end

  axis_reg #(
      .DataW($bits(bd_t))
  ) u_bd (
      .clk,
      .rst          (rst_q[1]),
      .s_axis_tdata (bd),
      .s_axis_tvalid(msg_tvalid),
      .s_axis_tready(msg_tready),
      .m_axis_tdata (bd_tdata),
      .m_axis_tvalid(bd_tvalid),
      .m_axis_tready(bd_tready)
  );

  det_whole #(
      .DataW      (DataW),
      .PacketBytes(PacketBytes)
  ) u_whole (
      .clk,
      .rst          (rst_q[1]),
      .s_axis_tdata (payload_tdata),
      .s_axis_tkeep (payload_tkeep),
      .s_axis_tlast (payload_tlast),
      .s_axis_tuser (payload_tuser),
      .s_axis_tvalid(payload_tvalid),
      .s_axis_tready(payload_tready),
      .m_axis_tdata (whole_tdata),
      .m_axis_tkeep (whole_tkeep),
      .m_axis_tlast (whole_tlast),
      .m_axis_tvalid(whole_tvalid),
      .m_axis_tready(whole_tready)
  );

  pcie_engine #(
      .DataW  (DataW),
      .Entries(Entries)
  ) u_engine (
      .clk,
      .rst            (rst_q[1]),
      .mps_i,
      .page_log2_i,
      .pages_i,
      .map_write_i,
      .map_index_i,
      .map_entry_i,
      .event_enabled_i,
      .event_base_i,
      .event_log2_i,
      .event_consumed_i,
      .event_produced_o,
      .fence_i,
      .fence_limit_i,
      .completion_i,
      .completion_tag_i,
      .completion_bad_i,
      .failed_i,
      .s_axis_bd_tdata      (bd_tdata),
      .s_axis_bd_tvalid     (bd_tvalid),
      .s_axis_bd_tready     (bd_tready),
      .s_axis_payload_tdata (whole_tdata),
      .s_axis_payload_tkeep (whole_tkeep),
      .s_axis_payload_tlast (whole_tlast),
      .s_axis_payload_tuser (1'b0),
      .s_axis_payload_tvalid(whole_tvalid),
      .s_axis_payload_tready(whole_tready),
      .m_axis_tlp_tdata,
      .m_axis_tlp_tkeep,
      .m_axis_tlp_tlast,
      .m_axis_tlp_tuser,
      .m_axis_tlp_tvalid,
      .m_axis_tlp_tready,
      .status_valid_o,
      .status_o,
      .status_stream_o      (of_packet),
      .event_o,
      .event_written_o,
      .event_lost_o,
      .unanswered_o,
      .refused_o,
      .unexpected_o,
      .idle_o               (engine_idle)
  );

  assign idle_o = core_idle && engine_idle && !bd_tvalid && !m_axis_tlp_tvalid;

  logic unused;
  assign unused = ^{msg_tdata, of_packet, constant_request, constant_error};

endmodule
