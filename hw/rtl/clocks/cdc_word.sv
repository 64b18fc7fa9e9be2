// Brings a value that changes seldom into another clock, whole: what comes out was the value at one moment, and the last one comes.
// A value that stays for less than a round trip, some cycles of both clocks, may be left out. It has no reset, and starts with zeros.
module cdc_word #(
    parameter int unsigned Width = 8
) (
    input logic             s_clk,
    input logic [Width-1:0] word_i,

    input  logic             m_clk,
    output logic [Width-1:0] word_o
);

  // hold_q does not change from the turn of asked_q to the answer.
  logic [Width-1:0] hold_q = '0;
  logic [Width-1:0] word_q = '0;
  logic asked_q = 1'b0;
  logic answered_q = 1'b0;
  logic asked, answered;

  cdc_bits u_asked (
      .clk   (m_clk),
      .bits_i(asked_q),
      .bits_o(asked)
  );

  cdc_bits u_answered (
      .clk   (s_clk),
      .bits_i(answered_q),
      .bits_o(answered)
  );

  always_ff @(posedge s_clk) begin
    if (asked_q == answered && word_i != hold_q) begin
      hold_q  <= word_i;
      asked_q <= !asked_q;
    end
  end

  always_ff @(posedge m_clk) begin
    if (asked != answered_q) word_q <= hold_q;
    answered_q <= asked;
  end

  assign word_o = word_q;

endmodule
