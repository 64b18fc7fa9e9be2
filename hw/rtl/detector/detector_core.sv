// A detector's own UDP packets become RDMA WRITEs into the slots of a ring, each packet by itself, with no processor and no frame
// memory between. Wiring only.
//
//   MAC -> udp_match -> det_header -> det_queue -> pixels, with Correct by det_correct --.
//                                         |                                           det_send -> messages, payload: roce_tx
//                                         '-> det_place -------------------------------'
module detector_core
  import axi_pkg::*;
  import det_pkg::*;
  import framelane_pkg::correction_t;
  import jf_pkg::PLANES;
  import roce_pkg::message_t;
#(
    parameter int unsigned DataW       = 512,
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

    parameter bit          Correct       = 1'b0,  // JUNGFRAU correction, where correction_i switches it on
    parameter int unsigned ConstantDepth = 0,     // beats of its constants read ahead; 0: two packets
    parameter int unsigned MaxBurst      = 256,   // beats of their longest burst

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    // Steady while armed
    input target_t     target_i,
    input logic [47:0] local_mac_i,
    input logic [31:0] local_ip_i,
    input logic [15:0] first_port_i,
    input logic        two_ports_i,  // a module sends each half of its packets to a port of its own
    input logic [ 7:0] modules_i,

    input logic        armed_i,       // else all packets are dropped
    input logic [63:0] window_end_i,  // credit: frame n may begin only if n < window_end
    input logic [15:0] timeout_i,     // ticks until a frame of which nothing comes is over
    input logic        tick_i,        // pulse
    input logic        flush_i,       // all frames are over

    // Frames without FCS. A MAC cannot wait
    input logic [DataW-1:0] s_axis_tdata,
    input logic [KeepW-1:0] s_axis_tkeep,
    input logic             s_axis_tlast,
    input logic             s_axis_tuser,   // with tlast: wrong FCS, or cut
    input logic             s_axis_tvalid,

    // For roce_tx
    output message_t             m_axis_msg_tdata,
    output logic                 m_axis_msg_tvalid,
    input  logic                 m_axis_msg_tready,
    output logic     [DataW-1:0] m_axis_payload_tdata,
    output logic     [KeepW-1:0] m_axis_payload_tkeep,
    output logic                 m_axis_payload_tlast,
    output logic                 m_axis_payload_tuser,   // not whole
    output logic                 m_axis_payload_tvalid,
    input  logic                 m_axis_payload_tready,

    // The correction, as of det_correct; without Correct 0
    input  correction_t                                correction_i,
    output axi_read_request_t  [PLANES-1:0]            m_axi_constant_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_constant_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,
    output logic                                       constant_error_o,      // pulse: a packet's came with an error

    output logic [FATES-1:0] fates_o,  // pulses, by det_fate_e; two packets at most in a cycle, of two fates
    output logic             idle_o    // no frame is under way, and no constants
);

  localparam int unsigned BEATS = Depth != 0 ? Depth : 1 << $clog2(4 * PacketBytes / KeepW + 8);
  localparam int unsigned AHEAD = ConstantDepth != 0 ? ConstantDepth : 1 << $clog2(2 * PacketBytes / KeepW);

  if (Correct && !GainCode) begin : gen_check
    $error("%m: Correct is for pixels with a gain code");
  end

  logic [DataW-1:0] udp_tdata, read_tdata, pixel_tdata;
  logic [KeepW-1:0] udp_tkeep, read_tkeep, pixel_tkeep;
  logic udp_tlast, udp_tvalid, udp_bad, read_tlast, read_tuser, read_tvalid;
  logic pixel_tlast, pixel_tuser, pixel_tvalid, pixel_tready;
  logic [DataW-1:0] sent_tdata;
  logic [KeepW-1:0] sent_tkeep;
  logic sent_tlast, sent_tuser, sent_tvalid, sent_tready, correct_room, correct_idle, place_idle;
  datagram_t udp_tuser;
  head_t read_head, head_tdata;
  logic read_head_valid, head_tvalid, head_tready, tail_tdata, tail_tvalid, tail_tready, room;
  item_t item_tdata;
  end_t item_tuser;
  logic item_tvalid, item_tready, refused_valid, placed_valid;
  det_fate_e refused, placed;

  udp_match #(
      .DataW(DataW)
  ) u_match (
      .clk,
      .rst,
      .local_mac_i,
      .local_ip_i,
      .first_port_i,
      .ports_i      (two_ports_i ? {modules_i[6:0], 1'b0} : ModuleField != '0 ? 8'd1 : modules_i),
      .s_axis_tdata,
      .s_axis_tkeep,
      .s_axis_tlast,
      .s_axis_tuser,
      .s_axis_tvalid,
      .m_axis_tdata (udp_tdata),
      .m_axis_tkeep (udp_tkeep),
      .m_axis_tlast (udp_tlast),
      .m_axis_tuser (udp_tuser),
      .m_axis_tvalid(udp_tvalid),
      .bad_o        (udp_bad)
  );

  det_header #(
      .DataW        (DataW),
      .HeaderBytes  (HeaderBytes),
      .PacketBytes  (PacketBytes),
      .Packets      (Packets),
      .Modules      (Modules),
      .FrameField   (FrameField),
      .PacketField  (PacketField),
      .FirstPacket  (FirstPacket),
      .ModuleField  (ModuleField),
      .FirstModule  (FirstModule),
      .BunchField   (BunchField),
      .TimeField    (TimeField),
      .ConstantField(ConstantField),
      .ConstantValue(ConstantValue),
      .IdentityField(IdentityField),
      .Swapped      (Swapped),
      .GainCode     (GainCode)
  ) u_header (
      .clk,
      .rst,
      .armed_i,
      .two_ports_i,
      .modules_i,
      .room_i       (room && correct_room),
      .s_axis_tdata (udp_tdata),
      .s_axis_tkeep (udp_tkeep),
      .s_axis_tlast (udp_tlast),
      .s_axis_tuser (udp_tuser),
      .s_axis_tvalid(udp_tvalid),
      .bad_i        (udp_bad),
      .head_o       (read_head),
      .head_valid_o (read_head_valid),
      .m_axis_tdata (read_tdata),
      .m_axis_tkeep (read_tkeep),
      .m_axis_tlast (read_tlast),
      .m_axis_tuser (read_tuser),
      .m_axis_tvalid(read_tvalid),
      .fate_o       (refused),
      .fate_valid_o (refused_valid)
  );

  det_queue #(
      .DataW      (DataW),
      .PacketBytes(PacketBytes),
      .Depth      (BEATS)
  ) u_queue (
      .clk,
      .rst,
      .room_o             (room),
      .head_i             (read_head),
      .head_valid_i       (read_head_valid),
      .s_axis_tdata       (read_tdata),
      .s_axis_tkeep       (read_tkeep),
      .s_axis_tlast       (read_tlast),
      .s_axis_tuser       (read_tuser),
      .s_axis_tvalid      (read_tvalid),
      .m_axis_head_tdata  (head_tdata),
      .m_axis_head_tvalid (head_tvalid),
      .m_axis_head_tready (head_tready),
      .m_axis_tail_tdata  (tail_tdata),
      .m_axis_tail_tvalid (tail_tvalid),
      .m_axis_tail_tready (tail_tready),
      .m_axis_pixel_tdata (pixel_tdata),
      .m_axis_pixel_tkeep (pixel_tkeep),
      .m_axis_pixel_tlast (pixel_tlast),
      .m_axis_pixel_tuser (pixel_tuser),
      .m_axis_pixel_tvalid(pixel_tvalid),
      .m_axis_pixel_tready(pixel_tready)
  );

  det_place #(
      .Modules    (Modules),
      .Packets    (Packets),
      .PacketBytes(PacketBytes),
      .FrameW     (8 * 32'(FrameField[15:8])),
      .TimeUnit   (TimeUnit)
  ) u_place (
      .clk,
      .rst,
      .target_i,
      .window_end_i,
      .timeout_i,
      .tick_i,
      .flush_i,
      .s_axis_head_tdata (head_tdata),
      .s_axis_head_tvalid(head_tvalid),
      .s_axis_head_tready(head_tready),
      .s_axis_tail_tdata (tail_tdata),
      .s_axis_tail_tvalid(tail_tvalid),
      .s_axis_tail_tready(tail_tready),
      .m_axis_item_tdata (item_tdata),
      .m_axis_item_tuser (item_tuser),
      .m_axis_item_tvalid(item_tvalid),
      .m_axis_item_tready(item_tready),
      .fate_o            (placed),
      .fate_valid_o      (placed_valid),
      .idle_o            (place_idle)
  );

  if (Correct) begin : gen_correct
    det_correct #(
        .DataW      (DataW),
        .PacketBytes(PacketBytes),
        .Packets    (Packets),
        .Modules    (Modules),
        .Depth      (AHEAD),
        .MaxBurst   (MaxBurst)
    ) u_correct (
        .clk,
        .rst,
        .correction_i,
        .head_i             (read_head),
        .head_valid_i       (read_head_valid),
        .room_o             (correct_room),
        .s_axis_pixel_tdata (pixel_tdata),
        .s_axis_pixel_tkeep (pixel_tkeep),
        .s_axis_pixel_tlast (pixel_tlast),
        .s_axis_pixel_tuser (pixel_tuser),
        .s_axis_pixel_tvalid(pixel_tvalid),
        .s_axis_pixel_tready(pixel_tready),
        .m_axis_pixel_tdata (sent_tdata),
        .m_axis_pixel_tkeep (sent_tkeep),
        .m_axis_pixel_tlast (sent_tlast),
        .m_axis_pixel_tuser (sent_tuser),
        .m_axis_pixel_tvalid(sent_tvalid),
        .m_axis_pixel_tready(sent_tready),
        .m_axi_constant_o,
        .m_axi_constant_i,
        .m_axi_constant_rdata,
        .constant_error_o,
        .idle_o             (correct_idle)
    );
  end else begin : gen_raw
    assign {sent_tdata, sent_tkeep, sent_tlast, sent_tuser, sent_tvalid} =
        {pixel_tdata, pixel_tkeep, pixel_tlast, pixel_tuser, pixel_tvalid};
    assign pixel_tready = sent_tready;
    assign {correct_room, correct_idle} = '1;
    assign m_axi_constant_o = '0;
    assign constant_error_o = 1'b0;

    logic unused;
    assign unused = ^{correction_i, m_axi_constant_i, m_axi_constant_rdata};
  end

  assign idle_o = place_idle && correct_idle;

  det_send #(
      .DataW      (DataW),
      .PacketBytes(PacketBytes),
      .ModuleBytes(Packets * PacketBytes)
  ) u_send (
      .clk,
      .rst,
      .target_i,
      .s_axis_item_tdata  (item_tdata),
      .s_axis_item_tuser  (item_tuser),
      .s_axis_item_tvalid (item_tvalid),
      .s_axis_item_tready (item_tready),
      .s_axis_pixel_tdata (sent_tdata),
      .s_axis_pixel_tkeep (sent_tkeep),
      .s_axis_pixel_tlast (sent_tlast),
      .s_axis_pixel_tuser (sent_tuser),
      .s_axis_pixel_tvalid(sent_tvalid),
      .s_axis_pixel_tready(sent_tready),
      .m_axis_msg_tdata,
      .m_axis_msg_tvalid,
      .m_axis_msg_tready,
      .m_axis_payload_tdata,
      .m_axis_payload_tkeep,
      .m_axis_payload_tlast,
      .m_axis_payload_tuser,
      .m_axis_payload_tvalid,
      .m_axis_payload_tready
  );

  always_comb begin
    fates_o = '0;
    if (refused_valid) fates_o[refused] = 1'b1;
    if (placed_valid) fates_o[placed] = 1'b1;
  end

endmodule
