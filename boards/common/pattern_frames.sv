// Says of one image after the other that it is there, a thousand a second at most, and none while the last one waits: none is missing,
// and a flow that takes one in N makes them slower. They are those of pattern_memory or, where images_i is not 0, so many in the upper
// half of the addresses, over and over.
module pattern_frames
  import framelane_pkg::*;
#(
    parameter int unsigned ClockHz = 62_500_000,
    parameter int unsigned ImagesW = 4
) (
    input logic clk,
    input logic rst,

    input logic [ImagesW-1:0] images_i,
    input logic               begin_i,   // pulse: the next frame that does not wait yet is the first of them

    output frame_t m_axis_frame_tdata,
    output logic   m_axis_frame_tvalid,
    input  logic   m_axis_frame_tready
);

  localparam int unsigned PERIOD = ClockHz / 1000;
  localparam int unsigned TENTHS = 32'(64'd10_000_000_000 / 64'(ClockHz));  // of a nanosecond in a cycle
  localparam int unsigned PERIOD_W = $clog2(PERIOD);

  if (PERIOD < 2 || 64'(TENTHS) * 64'(ClockHz) != 64'd10_000_000_000) begin : gen_check
    $error("%m: ClockHz = %0d must be 2000 or more, and a cycle of whole tenths of nanoseconds", ClockHz);
  end

  logic [PERIOD_W-1:0] wait_q;
  logic [43:0] time_q, stamp_q;  // in nanoseconds
  logic [3:0] tenths_q;
  logic carry;
  logic [31:0] number_q;
  logic [ImagesW-1:0] image_q;
  logic [11:0] address_q;  // in images
  logic valid_q;

  assign carry = 5'(tenths_q) + 5'(TENTHS % 10) >= 5'd10;

  always_ff @(posedge clk) begin
    time_q <= time_q + 44'(TENTHS / 10) + 44'(carry);
    tenths_q <= carry ? tenths_q + 4'(TENTHS % 10) - 4'd10 : tenths_q + 4'(TENTHS % 10);
    if (wait_q != '0) wait_q <= wait_q - 1'b1;
    if (!valid_q && wait_q == '0 && !begin_i) begin
      valid_q <= 1'b1;
      stamp_q <= time_q;
      address_q <= images_i == '0 ? {1'b0, number_q[10:0]} : {1'b1, 11'(image_q)};
      image_q <= image_q + 1'b1 >= images_i ? '0 : image_q + 1'b1;
      wait_q  <= PERIOD_W'(PERIOD - 1);
    end
    if (valid_q && m_axis_frame_tready) begin
      valid_q  <= 1'b0;
      number_q <= number_q + 1'b1;
    end
    if (begin_i) image_q <= '0;
    if (rst) begin
      time_q <= '0;
      tenths_q <= '0;
      wait_q <= PERIOD_W'(PERIOD - 1);
      number_q <= '0;
      image_q <= '0;
      valid_q <= 1'b0;
    end
  end

  assign m_axis_frame_tdata = '{
          time_flags: '0,
          kind: '0,
          kind_index: '0,  // no kinds, no bunches
          bunch_id: '0,
          timestamp_ns: 64'(stamp_q),
          number: 64'(number_q),
          address: 64'(address_q) << 20
      };
  assign m_axis_frame_tvalid = valid_q;

endmodule
