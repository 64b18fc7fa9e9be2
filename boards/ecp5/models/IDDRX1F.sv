// Model of the ECP5's cell (Lattice FPGA-TN-02035): two bits a cycle from a pin, both with the next rising edge.
module IDDRX1F (
    input  logic SCLK,
    input  logic RST,
    input  logic D,
    output logic Q0,    // at the rising edge
    output logic Q1     // at the falling edge behind it
);

  logic rise_q, fall_q;

  always @(negedge SCLK) fall_q <= D && !RST;

  always @(posedge SCLK) begin
    rise_q <= D && !RST;
    Q0 <= rise_q && !RST;
    Q1 <= fall_q && !RST;
  end

endmodule
