// Bytes to a UART's line: 8 bits, least significant first, no parity, one stop bit.
module uart_tx #(
    parameter int unsigned BitCycles = 543  // 115,200 baud at 62.5 MHz
) (
    input logic clk,
    input logic rst,

    input  logic [7:0] s_axis_tdata,
    input  logic       s_axis_tvalid,
    output logic       s_axis_tready,

    output logic line_o
);

  localparam int unsigned BITS = 10;  // with start and stop
  localparam int unsigned WAIT_W = $clog2(BitCycles);

  if (BitCycles < 4) begin : gen_check
    $error("%m: BitCycles = %0d must be 4 or more", BitCycles);
  end

  logic [WAIT_W-1:0] wait_q;
  logic [3:0] left_q;  // bits whose time is not over
  logic [8:0] bits_q;  // with the start bit; the line is idle as a stop bit is

  assign s_axis_tready = left_q == '0;
  assign line_o = bits_q[0];

  always_ff @(posedge clk) begin
    wait_q <= wait_q - 1'b1;
    if (left_q == '0) begin
      wait_q <= WAIT_W'(BitCycles - 1);
      if (s_axis_tvalid) begin
        bits_q <= {s_axis_tdata, 1'b0};
        left_q <= 4'(BITS);
      end
    end else if (wait_q == '0) begin
      wait_q <= WAIT_W'(BitCycles - 1);
      left_q <= left_q - 1'b1;
      bits_q <= {1'b1, bits_q[8:1]};
    end
    if (rst) begin
      left_q <= '0;
      bits_q <= '1;
    end
  end

endmodule
