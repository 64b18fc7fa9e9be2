// Words and pixel codes of the JUNGFRAU correction (docs/explanation/jf_correct.md). Model: jf_correct.PixelCode.
package jf_pkg;

  localparam int unsigned STAGES = 3;  // G0 or HG0, G1, G2
  localparam int unsigned PLANES = 2 * STAGES;  // pedestals of the stages, then their mantissas

  // Raw words without a value
  localparam logic [15:0] HOLE_WORD = 16'h8000;
  localparam logic [15:0] ERROR_WORD = 16'hFFFF;
  localparam logic [15:0] G1_ZERO_WORD = 16'h4000;
  localparam logic [15:0] SATURATED_WORD = 16'hC000;
  localparam logic [15:0] HG0_SATURATED_WORD = 16'h3FFF;
  localparam logic [1:0] FORBIDDEN_STAGE = 2'b10;  // gain code

  // What they become
  localparam logic signed [15:0] HOLE = -16'sd32768;
  localparam logic signed [15:0] INVALID = -16'sd32766;
  localparam logic signed [15:0] MASKED = -16'sd32767;
  localparam logic signed [15:0] SATURATED = 16'sd32767;

  localparam logic signed [15:0] MAX_VALUE = 16'sd32700;  // values are clipped to -MAX_VALUE..MAX_VALUE

endpackage
