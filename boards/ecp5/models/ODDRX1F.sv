// Model of the ECP5's cell (Lattice FPGA-TN-02035): two bits a cycle to a pin.
module ODDRX1F (
    input  logic SCLK,
    input  logic RST,
    input  logic D0,    // while SCLK is high
    input  logic D1,
    output logic Q
);

  logic first_q, second_q;

  always @(posedge SCLK) begin
    first_q  <= D0 && !RST;
    second_q <= D1 && !RST;
  end

  assign Q = SCLK ? first_q : second_q;

endmodule
