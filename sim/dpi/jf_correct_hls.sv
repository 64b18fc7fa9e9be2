// The HLS core (hw/hls/jf_correct_core.hpp) with the ports of jf_correct, one call a step of the streams: jf_correct_hls.cpp.
// For simulation only.
module jf_correct_hls
  import jf_pkg::*;
#(
    parameter int unsigned DataW = 512,
    parameter int unsigned UserW = 1,

    localparam int unsigned KeepW = DataW / 8
) (
    input logic clk,
    input logic rst,

    input logic [STAGES-1:0][4:0] shift_i,
    input logic                   high_gain_i,

    input  logic [DataW-1:0] s_axis_pixel_tdata,
    input  logic [KeepW-1:0] s_axis_pixel_tkeep,
    input  logic             s_axis_pixel_tlast,
    input  logic [UserW-1:0] s_axis_pixel_tuser,
    input  logic             s_axis_pixel_tvalid,
    output logic             s_axis_pixel_tready,

    input  logic [PLANES-1:0][DataW-1:0] s_axis_constant_tdata,
    input  logic                         s_axis_constant_tlast,
    input  logic                         s_axis_constant_tuser,
    input  logic                         s_axis_constant_tvalid,
    output logic                         s_axis_constant_tready,

    output logic [DataW-1:0] m_axis_pixel_tdata,
    output logic [KeepW-1:0] m_axis_pixel_tkeep,
    output logic             m_axis_pixel_tlast,
    output logic [UserW-1:0] m_axis_pixel_tuser,
    output logic             m_axis_pixel_tvalid,
    input  logic             m_axis_pixel_tready,

    output logic mismatch_o
);

  if (!(DataW inside {64, 128, 256, 512, 1024})) begin : gen_check
    $error("%m: DataW = %0d must be 64, 128, 256, 512 or 1024", DataW);
  end

  import "DPI-C" function void jf_correct_hls_step(
    input int lanes,
    input bit [DataW-1:0] pixels,
    input bit pixels_last,
    input bit [PLANES*DataW-1:0] constants,
    input bit constants_last,
    input bit constants_wrong,
    input bit [STAGES*5-1:0] shifts,
    input bit high_gain,
    inout bit pixels_ended,
    inout bit constants_ended,
    inout bit mismatch,
    inout bit [DataW-1:0] corrected
  );

  // As the fields of jf::Ends
  bit pixels_ended_q, constants_ended_q;
  bit mismatch_q;
  bit [DataW-1:0] corrected_q;
  logic ready, step;

  assign ready = !m_axis_pixel_tvalid || m_axis_pixel_tready;
  assign step = ready && (pixels_ended_q || s_axis_pixel_tvalid) && (constants_ended_q || s_axis_constant_tvalid);
  assign s_axis_pixel_tready = step && !pixels_ended_q;
  assign s_axis_constant_tready = step && !constants_ended_q;
  assign m_axis_pixel_tdata = corrected_q;
  assign mismatch_o = mismatch_q;

  always_ff @(posedge clk) begin
    automatic bit pixels_ended = pixels_ended_q;
    automatic bit constants_ended = constants_ended_q;
    automatic bit mismatch = 1'b0;
    automatic bit [DataW-1:0] corrected = corrected_q;
    if (step) begin
      jf_correct_hls_step(DataW / 16, s_axis_pixel_tdata, s_axis_pixel_tlast, s_axis_constant_tdata,
                          s_axis_constant_tlast, s_axis_constant_tuser, shift_i, high_gain_i, pixels_ended,
                          constants_ended, mismatch, corrected);
    end
    pixels_ended_q <= pixels_ended;
    constants_ended_q <= constants_ended;
    mismatch_q <= mismatch;
    if (ready) begin
      corrected_q <= corrected;
      m_axis_pixel_tkeep <= s_axis_pixel_tkeep;
      m_axis_pixel_tlast <= s_axis_pixel_tlast;
      m_axis_pixel_tuser <= s_axis_pixel_tuser;
      m_axis_pixel_tvalid <= s_axis_pixel_tvalid && s_axis_pixel_tready;
    end
    if (rst) begin
      pixels_ended_q <= 1'b0;
      constants_ended_q <= 1'b0;
      mismatch_q <= 1'b0;
      m_axis_pixel_tvalid <= 1'b0;
    end
  end

endmodule
