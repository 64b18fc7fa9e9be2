// Bytes from a UART's line: 8 bits, least significant first, no parity, one stop bit. Each bit is looked at in its middle. A byte without
// its stop bit, or a start bit shorter than half a bit, is left out.
module uart_rx #(
    parameter int unsigned BitCycles = 543  // 115,200 baud at 62.5 MHz
) (
    input logic clk,
    input logic rst,

    input logic line_i,  // in this clock: behind cdc_bits

    output logic [7:0] m_axis_tdata,
    output logic       m_axis_tvalid  // whether it is taken or not
);

  localparam int unsigned BITS = 10;  // with start and stop
  localparam int unsigned WAIT_W = $clog2(BitCycles);

  if (BitCycles < 4) begin : gen_check
    $error("%m: BitCycles = %0d must be 4 or more", BitCycles);
  end

  logic [WAIT_W-1:0] wait_q;
  logic [3:0] left_q;  // bits to be looked at; 0: none has begun
  logic idle_q;        // the line was idle

  always_ff @(posedge clk) begin
    m_axis_tvalid <= 1'b0;
    wait_q <= wait_q - 1'b1;
    if (left_q == '0) begin
      idle_q <= line_i;
      wait_q <= WAIT_W'(BitCycles / 2 - 1);
      if (idle_q && !line_i) left_q <= 4'(BITS);
    end else if (wait_q == '0) begin
      wait_q <= WAIT_W'(BitCycles - 1);
      left_q <= left_q - 1'b1;
      idle_q <= line_i;
      if (left_q == 4'(BITS) && line_i) left_q <= '0;
      if (left_q != 4'd1) m_axis_tdata <= {line_i, m_axis_tdata[7:1]};
      else m_axis_tvalid <= line_i;
    end
    if (rst) begin
      left_q <= '0;
      idle_q <= 1'b0;
      m_axis_tvalid <= 1'b0;
    end
  end

endmodule
