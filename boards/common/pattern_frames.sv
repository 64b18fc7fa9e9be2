// Says of one image of pattern_memory after the other that it is there, a thousand a second at most, and none while the last one waits:
// none is missing, and a flow that takes one in N makes them slower.
module pattern_frames
  import framelane_pkg::*;
#(
    parameter int unsigned ClockHz = 62_500_000
) (
    input logic clk,
    input logic rst,

    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready
);

  localparam int unsigned PERIOD = ClockHz / 1000;
  localparam int unsigned TIME_NS = 1_000_000_000 / ClockHz;  // of a cycle
  localparam int unsigned PERIOD_W = $clog2(PERIOD);

  if (PERIOD < 2 || TIME_NS * ClockHz != 1_000_000_000) begin : gen_check
    $error("%m: ClockHz = %0d must be 2000 or more, and a cycle of whole nanoseconds", ClockHz);
  end

  logic [PERIOD_W-1:0] wait_q;
  logic [39:0] time_q, stamp_q;  // in cycles
  logic [31:0] number_q;
  logic valid_q;

  always_ff @(posedge clk) begin
    time_q <= time_q + 1'b1;
    if (wait_q != '0) wait_q <= wait_q - 1'b1;
    if (!valid_q && wait_q == '0) begin
      valid_q <= 1'b1;
      stamp_q <= time_q;
      wait_q  <= PERIOD_W'(PERIOD - 1);
    end
    if (valid_q && m_axis_frame_tready) begin
      valid_q  <= 1'b0;
      number_q <= number_q + 1'b1;
    end
    if (rst) begin
      time_q <= '0;
      wait_q <= PERIOD_W'(PERIOD - 1);
      number_q <= '0;
      valid_q <= 1'b0;
    end
  end

  assign m_axis_frame_tdata = '{
          time_flags: '0,
          kind: '0,
          kind_index: '0,  // no kinds, no bunches
          bunch_id: '0,
          timestamp_ns: 64'(stamp_q) * TIME_NS,
          number: 64'(number_q),
          address: 64'(number_q[11:0]) << 20
      };
  assign m_axis_frame_tvalid = valid_q;

endmodule
