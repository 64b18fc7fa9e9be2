// Decides where every byte comes from and goes to: for each frame and flow the descriptors, one a clock, and the trailer.
// While the descriptors of one frame leave, the place of the next is computed.
//
//   frames -> bd_select -> bd_reg -> bd_place -> bd_reg -> bd_rows -> descriptors, trailers, ends of frames
module bd_gen
  import framelane_pkg::*;
#(
    parameter int unsigned Flows        = 4,
    parameter int unsigned Destinations = 16,
    parameter bit          TimeFlags    = 1'b0  // frames may bring time_flags; 0: those of all are 0
) (
    input logic clk,
    input logic rst,

    input logic armed_i,  // else frames pass untaken

    // Tables: the entry that was asked for a cycle before
    output logic    [1:0][7:0] flow_index_o,
    input  flow_t              flow_i,
    output logic         [7:0] destination_index_o,
    input  destination_t       destination_i,

    // Room for its descriptors in the QP: asked for, and answered a cycle later, before a frame is taken for it; then that it comes
    output logic [ 7:0] room_qp_o,
    output logic [15:0] room_wanted_o,
    input  logic        room_i,
    output logic        admit_o,        // pulse

    // Path MTU of a QP, answered in the same cycle
    output logic [7:0] mtu_index_o,
    input  logic [3:0] mtu_log2_i,

    // Frames that lie complete in memory, with rising numbers
    input  frame_t s_axis_frame_tdata,
    input  logic   s_axis_frame_tvalid,
    output logic   s_axis_frame_tready,

    // Descriptors, to the memory reader and the packetizer
    output bd_t  m_axis_bd_tdata,
    output logic m_axis_bd_tvalid,
    input  logic m_axis_bd_tready,

    // Contents of the trailers, in the order of their descriptors
    output trailer_t m_axis_trailer_tdata,
    output logic     m_axis_trailer_tvalid,
    input  logic     m_axis_trailer_tready,

    // Ends of frames: descriptors up to there, modulo 2^16
    output logic [15:0] m_axis_over_tdata,
    output logic        m_axis_over_tvalid,
    input  logic        m_axis_over_tready,

    // Counters of flows and destinations
    output count_t m_axis_count_tdata,
    output logic   m_axis_count_tvalid,
    input  logic   m_axis_count_tready,

    output refusal_t refusal_o,
    output logic     refusal_valid_o,  // pulse
    output logic     frame_o,          // pulse: a frame was taken in while armed
    output logic     ignored_o,        // pulse: while not armed
    output logic     idle_o
);

  frame_t frame_tdata;
  chosen_t chosen_tdata, registered_tdata, queued_tdata;
  placed_t placed_tdata, waiting_tdata, ready_tdata;
  logic chosen_tvalid, chosen_tready, queued_tvalid, queued_tready;
  logic placed_tvalid, placed_tready, ready_tvalid, ready_tready;
  count_t count_tdata;
  logic count_tvalid, count_tready;
  logic select_idle, place_idle, rows_idle, queued_over, ready_over;

  // Tools do not find that registers in a ring hold nothing but 0: they are told so behind each.
  always_comb begin
    frame_tdata  = s_axis_frame_tdata;
    queued_tdata = registered_tdata;
    ready_tdata  = waiting_tdata;
    queued_tdata.over = queued_over;
    ready_tdata.over = ready_over;
    if (!TimeFlags) begin
      frame_tdata.time_flags = '0;
      queued_tdata.frame.time_flags = '0;
      ready_tdata.trailer.time_flags = '0;
    end
  end

  bd_select #(
      .Flows(Flows)
  ) u_select (
      .clk,
      .rst,
      .armed_i,
      .flow_index_o,
      .flow_i,
      .s_axis_frame_tdata  (frame_tdata),
      .s_axis_frame_tvalid,
      .s_axis_frame_tready,
      .m_axis_chosen_tdata (chosen_tdata),
      .m_axis_chosen_tvalid(chosen_tvalid),
      .m_axis_chosen_tready(chosen_tready),
      .frame_o,
      .ignored_o,
      .idle_o              (select_idle)
  );

  bd_reg #(
      .DataW($bits(chosen_t))
  ) u_chosen (
      .clk,
      .rst,
      .s_axis_tdata (chosen_tdata),
      .s_axis_tuser (chosen_tdata.over),
      .s_axis_tvalid(chosen_tvalid),
      .s_axis_tready(chosen_tready),
      .m_axis_tdata (registered_tdata),
      .m_axis_tuser (queued_over),
      .m_axis_tvalid(queued_tvalid),
      .m_axis_tready(queued_tready)
  );

  bd_place #(
      .Destinations(Destinations)
  ) u_place (
      .clk,
      .rst,
      .s_axis_chosen_tdata (queued_tdata),
      .s_axis_chosen_tvalid(queued_tvalid),
      .s_axis_chosen_tready(queued_tready),
      .destination_index_o,
      .destination_i,
      .room_qp_o,
      .room_wanted_o,
      .room_i,
      .admit_o,
      .m_axis_placed_tdata (placed_tdata),
      .m_axis_placed_tvalid(placed_tvalid),
      .m_axis_placed_tready(placed_tready),
      .m_axis_count_tdata  (count_tdata),
      .m_axis_count_tvalid (count_tvalid),
      .m_axis_count_tready (count_tready),
      .refusal_o,
      .refusal_valid_o,
      .idle_o              (place_idle)
  );

  axis_reg #(
      .DataW($bits(count_t))
  ) u_count (
      .clk,
      .rst,
      .s_axis_tdata (count_tdata),
      .s_axis_tvalid(count_tvalid),
      .s_axis_tready(count_tready),
      .m_axis_tdata (m_axis_count_tdata),
      .m_axis_tvalid(m_axis_count_tvalid),
      .m_axis_tready(m_axis_count_tready)
  );

  bd_reg #(
      .DataW($bits(placed_t))
  ) u_placed (
      .clk,
      .rst,
      .s_axis_tdata (placed_tdata),
      .s_axis_tuser (placed_tdata.over),
      .s_axis_tvalid(placed_tvalid),
      .s_axis_tready(placed_tready),
      .m_axis_tdata (waiting_tdata),
      .m_axis_tuser (ready_over),
      .m_axis_tvalid(ready_tvalid),
      .m_axis_tready(ready_tready)
  );

  bd_rows u_rows (
      .clk,
      .rst,
      .s_axis_placed_tdata (ready_tdata),
      .s_axis_placed_tvalid(ready_tvalid),
      .s_axis_placed_tready(ready_tready),
      .mtu_index_o,
      .mtu_log2_i,
      .m_axis_bd_tdata,
      .m_axis_bd_tvalid,
      .m_axis_bd_tready,
      .m_axis_trailer_tdata,
      .m_axis_trailer_tvalid,
      .m_axis_trailer_tready,
      .m_axis_over_tdata,
      .m_axis_over_tvalid,
      .m_axis_over_tready,
      .idle_o              (rows_idle)
  );

  assign idle_o = select_idle && place_idle && rows_idle && !queued_tvalid && !ready_tvalid && !m_axis_count_tvalid;

endmodule
