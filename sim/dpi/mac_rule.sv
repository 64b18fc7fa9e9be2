// The rule of a MAC that sends while it is given: no cycle without tvalid inside a packet, and none that is marked as wrong. Counts the
// cycles in which a stream would break it; fails where it must not. For simulation only.
module mac_rule #(
    parameter bit Asserts = 1'b1
) (
    input logic clk,
    input logic rst,

    input logic tvalid_i,
    input logic tready_i,
    input logic tlast_i,
    input logic tuser_i,

    output logic [63:0] gaps_o
);

  logic inside_q;
  logic [63:0] gaps_q;

  assign gaps_o = gaps_q;

  always_ff @(posedge clk) begin
    if (tvalid_i && tready_i) inside_q <= !tlast_i;
    if (inside_q && !tvalid_i) gaps_q <= gaps_q + 1'b1;
    if (rst) begin
      inside_q <= 1'b0;
      gaps_q   <= '0;
    end
    if (Asserts && !rst) begin
      assert (!(inside_q && !tvalid_i))
      else $error("%m: a gap inside a packet at the MAC");
      assert (!(tvalid_i && tlast_i && tuser_i))
      else $error("%m: a packet is marked as wrong");
    end
  end

endmodule
