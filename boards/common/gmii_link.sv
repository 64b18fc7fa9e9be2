// Whether the link of a PHY is up, at 1 Gb/s and full duplex: by the in-band status between packets where the PHY gives it (RGMII 2.0,
// 3.4.1), and in any case from the first right packet on.
module gmii_link (
    input logic clk,  // the PHY's
    input logic rst,

    input logic [7:0] gmii_rxd_i,
    input logic       gmii_rx_dv_i,
    input logic       gmii_rx_er_i,
    input logic       right_i,       // pulse: a packet whose FCS is right

    output logic up_o
);

  localparam logic [3:0] GIGABIT = 4'b1101;  // full duplex, 125 MHz, up

  logic said_q, came_q;

  always_ff @(posedge clk) begin
    if (!gmii_rx_dv_i && !gmii_rx_er_i) said_q <= gmii_rxd_i == {2{GIGABIT}};
    if (right_i) came_q <= 1'b1;
    up_o <= said_q || came_q;
    if (rst) begin
      said_q <= 1'b0;
      came_q <= 1'b0;
      up_o   <= 1'b0;
    end
  end

endmodule
