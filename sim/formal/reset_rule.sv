// Every proof starts with a reset; later ones may come at any time.
module reset_rule (
    input logic clk,
    input logic rst
);

  logic started_q;

  initial started_q = 1'b0;

  always_ff @(posedge clk) started_q <= 1'b1;
  always_comb assume (started_q || rst);

endmodule
