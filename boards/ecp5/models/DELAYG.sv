// Model of the ECP5's cell (Lattice FPGA-TN-02035) without its delay: what is simulated has no times of pins.
module DELAYG #(
    parameter              DEL_MODE  = "USER_DEFINED",
    parameter int unsigned DEL_VALUE = 0                // steps of 25 ps
) (
    input  logic A,
    output logic Z
);

  if (DEL_MODE != "USER_DEFINED" || DEL_VALUE > 127) begin : gen_check
    $error("%m: no such delay");
  end

  assign Z = A;

endmodule
