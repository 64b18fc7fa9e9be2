// Brings single bits into a clock by a chain of flip-flops, each bit for itself. For several bits that mean something together use
// cdc_word or cdc_gray. The source is a register: a pulse of logic would be caught.
// With CDC_JITTER a simulation catches a bit that changes now or one cycle later, by chance, as metastability does. Where several have
// changed since the last edge they did so one after the other, and were there in time.
module cdc_bits #(
    parameter int unsigned Width  = 1,
    parameter int unsigned Stages = 2
) (
    input logic clk, // of the destination

    input  logic [Width-1:0] bits_i,
    output logic [Width-1:0] bits_o
);

  if (Stages < 2) begin : gen_check
    $error("%m: Stages = %0d must be 2 or more", Stages);
  end

  // meta_q alone may become metastable. Constraints find it by its name.
  (* ASYNC_REG = "TRUE", keep, altera_attribute = "-name SYNCHRONIZER_IDENTIFICATION FORCED" *)
  logic [Width-1:0] meta_q = '0;
  (* ASYNC_REG = "TRUE", keep, altera_attribute = "-name SYNCHRONIZER_IDENTIFICATION FORCED" *)
  logic [Stages-2:0][Width-1:0] sync_q = '0;

`ifdef CDC_JITTER
  logic [Width-1:0] before_q = '0;
  always_ff @(posedge clk) begin
    before_q <= bits_i;
    meta_q <= $onehot(bits_i ^ before_q) && $urandom_range(1) == 1 ? before_q : bits_i;
  end
`else
  always_ff @(posedge clk) meta_q <= bits_i;
`endif

  always_ff @(posedge clk) begin
    sync_q[0] <= meta_q;
    for (int unsigned k = 1; k < Stages - 1; k++) sync_q[k] <= sync_q[k-1];
  end

  assign bits_o = sync_q[Stages-2];

endmodule
