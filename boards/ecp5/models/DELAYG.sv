// Model of the ECP5's cell (Lattice FPGA-TN-02035): a pin's signal, so many steps of 25 ps later. Nothing else of a board has times.
// With WITHOUT_TIMES it has none either.
module DELAYG #(
    parameter              DEL_MODE  = "USER_DEFINED",
    parameter int unsigned DEL_VALUE = 0                // steps of 25 ps
) (
    input  logic A,
    output logic Z
);

  localparam realtime STEP = 0.025;

  if (DEL_MODE != "USER_DEFINED" || DEL_VALUE > 127) begin : gen_check
    $error("%m: no such delay");
  end

`ifdef WITHOUT_TIMES
  assign Z = A;
`else
  always @(A) Z <= #(DEL_VALUE * STEP) A;
`endif

endmodule
