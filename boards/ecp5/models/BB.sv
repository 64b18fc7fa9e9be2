// Model of the ECP5's cell (Lattice FPGA-TN-02032): a pin that is driven or listened to.
module BB (
    input  logic I,
    input  logic T,  // not driven
    output logic O,
    inout  wire  B
);

  assign B = T ? 1'bz : I;
  assign O = B;

endmodule
