// Reset of a clock from a reset of any other, or of none: asserted at once, also while the clock stands; released by an edge of it.
module cdc_reset #(
    parameter int unsigned Stages = 3
) (
    input logic clk,
    input logic rst_i,  // asynchronous, from a register or a pin

    output logic rst_o
);

  if (Stages < 2) begin : gen_check
    $error("%m: Stages = %0d must be 2 or more", Stages);
  end

  (* ASYNC_REG = "TRUE", keep, altera_attribute = "-name SYNCHRONIZER_IDENTIFICATION FORCED" *)
  logic [Stages-1:0] reset_q = '1;

  always_ff @(posedge clk or posedge rst_i) begin
    if (rst_i) reset_q <= '1;
    else reset_q <= reset_q << 1;
  end

  assign rst_o = reset_q[Stages-1];

endmodule
