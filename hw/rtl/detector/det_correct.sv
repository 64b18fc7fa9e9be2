// Corrects a detector's packets between det_queue and det_send, each with the constants of its own pixels, which are asked for when its
// header is there. While the correction is off, they pass as they are, in the same cycle.
// A packet that is cut leaves as long as it came; the rest of its constants is dropped.
module det_correct
  import axi_pkg::*;
  import det_pkg::*;
  import framelane_pkg::correction_t;
  import jf_pkg::*;
#(
    parameter int unsigned DataW       = 512,
    parameter int unsigned PacketBytes = 8192,
    parameter int unsigned Packets     = 128,   // of a module's frame
    parameter int unsigned Modules     = 8,
    parameter int unsigned Depth       = 256,   // beats of constants read ahead
    parameter int unsigned MaxBurst    = 256,   // beats of their longest burst

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,  // only when it is idle

    // Enabled: from the next time on that it is idle. The others: steady while it is not, and PLANES cycles before
    input correction_t correction_i,

    // Packets by their heads, as they go into the queue
    input  head_t head_i,
    input  logic  head_valid_i,  // pulse
    output logic  room_o,        // for one more

    // Their pixels from the queue
    input  logic [DataW-1:0] s_axis_pixel_tdata,
    input  logic [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic             s_axis_pixel_tlast,
    input  logic             s_axis_pixel_tuser,   // with tlast: the packet was not whole
    input  logic             s_axis_pixel_tvalid,
    output logic             s_axis_pixel_tready,

    output logic [DataW-1:0] m_axis_pixel_tdata,
    output logic [KeepW-1:0] m_axis_pixel_tkeep,
    output logic             m_axis_pixel_tlast,
    output logic             m_axis_pixel_tuser,
    output logic             m_axis_pixel_tvalid,
    input  logic             m_axis_pixel_tready,

    // AXI4 read masters: the planes of the constants
    output axi_read_request_t  [PLANES-1:0]            m_axi_constant_o,
    input  axi_read_response_t [PLANES-1:0]            m_axi_constant_i,
    input  logic               [PLANES-1:0][DataW-1:0] m_axi_constant_rdata,

    output logic constant_error_o,  // pulse: constants of a packet came with an error
    output logic idle_o             // no packet is under way, and no constants
);

  localparam int unsigned INDEX_W = $clog2(Modules * Packets) > 0 ? $clog2(Modules * Packets) : 1;
  localparam int unsigned WAITING = 16;  // packets whose constants are not asked for yet
  localparam int unsigned UNDER_WAY_W = 6;

  typedef logic [INDEX_W-1:0] index_t;

  localparam int unsigned GROUP_W = 64;
  localparam int unsigned GROUPS = DataW / GROUP_W;

  index_t index_tdata;
  logic index_tready, waiting_tvalid, waiting_tready, on_d, on_q;
  (* keep, dont_merge *)logic [GROUPS-1:0] ons_q;  // copies, always equal, for some bytes each
  logic [$clog2(WAITING+1)-1:0] waiting_q;
  logic [UNDER_WAY_W-1:0] packets_q;
  logic constants_idle, pushes, pops, leaves;

  assign pushes = head_valid_i && on_q;
  assign pops = waiting_tvalid && waiting_tready;
  assign leaves = m_axis_pixel_tvalid && m_axis_pixel_tready && m_axis_pixel_tlast;
  assign idle_o = packets_q == '0 && !head_valid_i && constants_idle;

  assign on_d = !rst && (idle_o ? correction_i.enabled : on_q);

  always_ff @(posedge clk) begin
    on_q <= on_d;
    // A copy asks whether it changes: tools make one of equal ones.
    for (int unsigned g = 0; g < GROUPS; g++) if (rst || ons_q[g] != on_d) ons_q[g] <= on_d;
    packets_q <= packets_q + UNDER_WAY_W'(head_valid_i) - UNDER_WAY_W'(leaves);
    waiting_q <= waiting_q + $bits(waiting_q)'(pushes) - $bits(waiting_q)'(pops);
    room_o <= waiting_q < $bits(waiting_q)'(WAITING - 1);
    if (rst) begin
      packets_q <= '0;
      waiting_q <= '0;
      room_o <= 1'b0;
    end
  end

  axis_fifo #(
      .DataW(INDEX_W),
      .Depth(WAITING)
  ) u_waiting (
      .clk,
      .rst,
      .s_axis_tdata (index_t'(32'(head_i.module_number) * Packets + 32'(head_i.packet))),
      .s_axis_tvalid(pushes),
      .s_axis_tready(index_tready),
      .m_axis_tdata (index_tdata),
      .m_axis_tvalid(waiting_tvalid),
      .m_axis_tready(waiting_tready)
  );

  logic [PLANES-1:0][DataW-1:0] constant_tdata;
  logic constant_tlast, constant_tuser, constant_tvalid, constant_tready;

  det_constants #(
      .DataW      (DataW),
      .PacketBytes(PacketBytes),
      .IndexW     (INDEX_W),
      .Depth      (Depth),
      .MaxBurst   (MaxBurst)
  ) u_constants (
      .clk,
      .rst,
      .base_i                (correction_i.base),
      .pitch_i               (correction_i.pitch),
      .s_axis_index_tdata    (index_tdata),
      .s_axis_index_tvalid   (waiting_tvalid),
      .s_axis_index_tready   (waiting_tready),
      .m_axis_constant_tdata (constant_tdata),
      .m_axis_constant_tlast (constant_tlast),
      .m_axis_constant_tuser (constant_tuser),
      .m_axis_constant_tvalid(constant_tvalid),
      .m_axis_constant_tready(constant_tready),
      .m_axi_o               (m_axi_constant_o),
      .m_axi_i               (m_axi_constant_i),
      .m_axi_rdata           (m_axi_constant_rdata),
      .idle_o                (constants_idle)
  );

  // An error counts once a packet
  logic error_q, constant_taken;

  assign constant_taken = constant_tvalid && constant_tready;

  always_ff @(posedge clk) begin
    if (constant_taken) error_q <= !constant_tlast && (error_q || constant_tuser);
    constant_error_o <= constant_taken && constant_tlast && (error_q || constant_tuser);
    if (rst) begin
      error_q <= 1'b0;
      constant_error_o <= 1'b0;
    end
  end

  logic [DataW-1:0] corrected_tdata, chosen_tdata;
  logic [KeepW-1:0] corrected_tkeep;
  logic corrected_tlast, corrected_tuser, corrected_tvalid, correct_tready, mismatch;

  jf_correct #(
      .DataW(DataW),
      .UserW(1)
  ) u_correct (
      .clk,
      .rst,
      .shift_i               (correction_i.shift),
      .high_gain_i           (correction_i.high_gain),
      .s_axis_pixel_tdata,
      .s_axis_pixel_tkeep,
      .s_axis_pixel_tlast,
      .s_axis_pixel_tuser,
      .s_axis_pixel_tvalid   (s_axis_pixel_tvalid && on_q),
      .s_axis_pixel_tready   (correct_tready),
      .s_axis_constant_tdata (constant_tdata),
      .s_axis_constant_tlast (constant_tlast),
      .s_axis_constant_tuser (constant_tuser),
      .s_axis_constant_tvalid(constant_tvalid),
      .s_axis_constant_tready(constant_tready),
      .m_axis_pixel_tdata    (corrected_tdata),
      .m_axis_pixel_tkeep    (corrected_tkeep),
      .m_axis_pixel_tlast    (corrected_tlast),
      .m_axis_pixel_tuser    (corrected_tuser),
      .m_axis_pixel_tvalid   (corrected_tvalid),
      .m_axis_pixel_tready   (m_axis_pixel_tready && on_q),
      .mismatch_o            (mismatch)
  );

  for (genvar g = 0; g < GROUPS; g++) begin : gen_choice
    assign chosen_tdata[g*GROUP_W+:GROUP_W] =
        ons_q[g] ? corrected_tdata[g*GROUP_W+:GROUP_W] : s_axis_pixel_tdata[g*GROUP_W+:GROUP_W];
  end

  assign m_axis_pixel_tdata  = chosen_tdata;
  assign s_axis_pixel_tready = on_q ? correct_tready : m_axis_pixel_tready;
  assign m_axis_pixel_tkeep  = on_q ? corrected_tkeep : s_axis_pixel_tkeep;
  assign m_axis_pixel_tlast  = on_q ? corrected_tlast : s_axis_pixel_tlast;
  assign m_axis_pixel_tuser  = on_q ? corrected_tuser : s_axis_pixel_tuser;
  assign m_axis_pixel_tvalid = on_q ? corrected_tvalid : s_axis_pixel_tvalid;

`ifndef SYNTHESIS
  always @(posedge clk) begin
    assert (rst || !pushes || index_tready)
    else $error("%m: a packet came for which there was no room");
  end
`endif

  logic unused;
  assign unused = ^{index_tready, head_i, correction_i, mismatch};

endmodule
