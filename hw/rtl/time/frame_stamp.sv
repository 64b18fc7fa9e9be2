// Gives a frame the time at which its first pixel is offered, or that of the last trigger before it, for the timestamp that it brings.
// All else passes as it is, in the same cycle.
module frame_stamp
  import framelane_pkg::frame_info_t;
  import time_pkg::*;
(
    input logic clk,
    input logic rst,

    input logic [1:0] mode_i,     // 0: its own; 1: of its first pixel; 2: of the trigger
    input tai_t       tai_i,
    input logic [63:0] trigger_i,  // ns

    // The pixels' handshake: of a frame's first beat info_i becomes info_o
    input  logic        tvalid_i,
    input  logic        tready_i,
    input  logic        tlast_i,
    input  frame_info_t info_i,
    output frame_info_t info_o
);

  logic inside_q, offered_q;  // within a frame; its first beat has waited
  logic [63:0] stamp_q, stamp;

  always_comb begin
    unique case (mode_i)
      2'd1: stamp = tai_i.ns;
      2'd2: stamp = trigger_i;
      default: stamp = info_i.timestamp_ns;
    endcase
    info_o = info_i;
    info_o.timestamp_ns = offered_q ? stamp_q : stamp;
  end

  always_ff @(posedge clk) begin
    if (!offered_q) stamp_q <= stamp;
    if (tvalid_i) begin
      offered_q <= !tready_i && !inside_q;
      if (tready_i) inside_q <= !tlast_i;
    end
    if (rst) begin
      inside_q <= 1'b0;
      offered_q <= 1'b0;
    end
  end

  logic unused;
  assign unused = ^tai_i.fraction;

endmodule
