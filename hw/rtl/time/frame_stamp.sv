// Gives a frame the time at which its first pixel is offered, or that of the last trigger before it, for the timestamp that it brings,
// and says by time_flags what that is worth. All else passes as it is, in the same cycle.
module frame_stamp
  import framelane_pkg::*;
  import time_pkg::tai_t;
(
    input logic clk,
    input logic rst,

    input logic [ 1:0] mode_i,     // stamp_e
    input tai_t        tai_i,
    input logic [63:0] trigger_i,  // ns
    input time_flags_t quality_i,  // of the clock

    // The pixels' handshake: of a frame's first beat info_i becomes info_o
    input  logic        tvalid_i,
    input  logic        tready_i,
    input  logic        tlast_i,
    input  frame_info_t info_i,
    output frame_info_t info_o
);

  logic inside_q, offered_q;  // within a frame; its first beat has waited
  logic [63:0] stamp_q, stamp;
  time_flags_t flags_q, flags;

  always_comb begin
    flags = quality_i;
    flags.stamped = 1'b1;
    flags.of_trigger = mode_i == STAMP_TRIGGER;
    unique case (mode_i)
      STAMP_PIXEL: stamp = tai_i.ns;
      STAMP_TRIGGER: stamp = trigger_i;
      default: begin
        stamp = info_i.timestamp_ns;
        flags = info_i.time_flags;
      end
    endcase
    info_o = info_i;
    info_o.timestamp_ns = offered_q ? stamp_q : stamp;
    info_o.time_flags = offered_q ? flags_q : flags;
  end

  always_ff @(posedge clk) begin
    if (!offered_q) begin
      stamp_q <= stamp;
      flags_q <= flags;
    end
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
