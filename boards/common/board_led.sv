// One LED for all: blinks slowly while the link is down; is on when it is up, and goes off for a moment with packets.
module board_led #(
    parameter int unsigned ClockHz = 62_500_000
) (
    input logic clk,
    input logic rst,

    input logic link_i,
    input logic packet_i,  // a beat of one: at any rate

    output logic led_o
);

  localparam int unsigned BEAT_W = $clog2(ClockHz);  // about a second
  localparam int unsigned SHORT_W = BEAT_W - 4;

  logic [BEAT_W-1:0] beat_q;
  logic [SHORT_W-1:0] dark_q;  // for so long off, and then on for as long: a stream of packets flickers
  logic dark_half;

  assign dark_half = dark_q[SHORT_W-1];

  always_ff @(posedge clk) begin
    beat_q <= beat_q + 1'b1;
    if (dark_q != '0) dark_q <= dark_q - 1'b1;
    else if (packet_i) dark_q <= '1;
    led_o <= link_i ? !dark_half : beat_q[BEAT_W-1];
    if (rst) begin
      beat_q <= '0;
      dark_q <= '0;
      led_o  <= 1'b0;
    end
  end

endmodule
