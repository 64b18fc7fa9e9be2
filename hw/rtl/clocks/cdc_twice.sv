// Brings a bit of any clock in by its samples at both edges of clk: what it was at the rising edge, and half a cycle before that. Each
// sample has a flip-flop of its own for a whole cycle in which to settle, as in cdc_bits. Place both first ones at the same distance from
// the pin: what one is farther away counts as time. As in cdc_bits the source is a register, and CDC_JITTER a simulation's metastability.
module cdc_twice (
    input logic clk, // of the destination

    input  logic bit_i,
    output logic rise_o, // two edges later
    output logic fall_o  // in the same cycle: the sample half a cycle before it
);

  cdc_bits u_rise (
      .clk,
      .bits_i(bit_i),
      .bits_o(rise_o)
  );

  // meta_q alone may become metastable. Constraints find it by its name.
  (* ASYNC_REG = "TRUE", keep, altera_attribute = "-name SYNCHRONIZER_IDENTIFICATION FORCED" *)
  logic meta_q = 1'b0;
  (* ASYNC_REG = "TRUE", keep, altera_attribute = "-name SYNCHRONIZER_IDENTIFICATION FORCED" *)
  logic sync_q = 1'b0;

`ifdef CDC_JITTER
  logic before_q = 1'b0;
  always_ff @(negedge clk) begin
    before_q <= bit_i;
    meta_q <= $urandom_range(1) == 1 ? before_q : bit_i;
  end
`else
  always_ff @(negedge clk) meta_q <= bit_i;
`endif

  always_ff @(negedge clk) sync_q <= meta_q;
  always_ff @(posedge clk) fall_o <= sync_q;

endmodule
