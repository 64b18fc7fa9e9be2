// Brings a count into another clock, as it was some cycles ago. From cycle to cycle it stays or goes up by one, or both sides are held
// (cdc_restart) while it becomes 0: of its Gray code then one bit changes at a time, so that none is caught half. Whether two counts are
// equal, or half of all apart, their codes say as well, without the logic that makes a count of one.
module cdc_gray #(
    parameter int unsigned Width  = 4,
    parameter int unsigned Stages = 2
) (
    input logic             s_clk,
    input logic [Width-1:0] next_i,  // what the count will be from the next edge on

    output logic [Width-1:0] s_code_o,  // the Gray code of the count

    input  logic             m_clk,
    output logic [Width-1:0] m_code_o,
    output logic [Width-1:0] count_o
);

  logic [Width-1:0] gray_q = '0;

  always_ff @(posedge s_clk) gray_q <= next_i ^ (next_i >> 1);

  assign s_code_o = gray_q;

  cdc_bits #(
      .Width (Width),
      .Stages(Stages)
  ) u_bits (
      .clk   (m_clk),
      .bits_i(gray_q),
      .bits_o(m_code_o)
  );

  always_comb begin
    for (int unsigned k = 0; k < Width; k++) count_o[k] = ^(m_code_o >> k);
  end

endmodule
