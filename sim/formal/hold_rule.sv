// AXI4-Stream's rule of stalls: what is offered stays on offer, unchanged, until it is taken.
// Asserted of an output, assumed of an input.
module hold_rule #(
    parameter int unsigned DataW  = 8,
    parameter bit          Assume = 1'b0
) (
    input logic clk,
    input logic rst,

    input logic [DataW-1:0] tdata_i,
    input logic             tvalid_i,
    input logic             tready_i
);

  logic [DataW-1:0] data_q;
  logic stalled_q;
  logic held;

  initial stalled_q = 1'b0;
  always_ff @(posedge clk) begin
    data_q <= tdata_i;
    stalled_q <= tvalid_i && !tready_i && !rst;
  end

  assign held = !stalled_q || (tvalid_i && tdata_i == data_q);

  if (Assume) begin : gen_assume
    always_comb assume (held);
  end else begin : gen_assert
    always_comb a_held : assert (held);
  end

endmodule
