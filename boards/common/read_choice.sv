// Two AXI4 read slaves as one: the uppermost bit of an address says whose it is. Bursts of the one are over before the other gets any,
// so what is read comes in order.
module read_choice #(
    parameter int unsigned AddrW = 32,
    parameter int unsigned DataW = 64,
    parameter int unsigned Most  = 15   // bursts under way, at most
) (
    input logic clk,
    input logic rst,

    // The master
    input  logic [AddrW-1:0] s_axi_araddr,
    input  logic             s_axi_arvalid,
    output logic             s_axi_arready,
    output logic [DataW-1:0] s_axi_rdata,
    output logic             s_axi_rlast,
    output logic             s_axi_rvalid,
    input  logic             s_axi_rready,

    // The slaves, which get address and length from the master
    output logic [1:0]            m_axi_arvalid,
    input  logic [1:0]            m_axi_arready,
    input  logic [1:0][DataW-1:0] m_axi_rdata,
    input  logic [1:0]            m_axi_rlast,
    input  logic [1:0]            m_axi_rvalid,
    output logic [1:0]            m_axi_rready
);

  localparam int unsigned COUNT_W = $clog2(Most + 1);

  logic [COUNT_W-1:0] count_q;  // bursts under way
  logic whose_q, upper, goes, over, unused;

  assign upper = s_axi_araddr[AddrW-1];
  assign goes = upper == whose_q && count_q != COUNT_W'(Most);
  assign over = s_axi_rvalid && s_axi_rready && s_axi_rlast;

  assign m_axi_arvalid = {whose_q, !whose_q} & {2{s_axi_arvalid && goes}};
  assign s_axi_arready = m_axi_arready[whose_q] && goes;
  assign s_axi_rdata = m_axi_rdata[whose_q];
  assign s_axi_rlast = m_axi_rlast[whose_q];
  assign s_axi_rvalid = m_axi_rvalid[whose_q];
  assign m_axi_rready = {whose_q, !whose_q} & {2{s_axi_rready}};

  always_ff @(posedge clk) begin
    count_q <= count_q + COUNT_W'(s_axi_arvalid && s_axi_arready) - COUNT_W'(over);
    if (count_q == '0 && s_axi_arvalid) whose_q <= upper;
    if (rst) begin
      count_q <= '0;
      whose_q <= 1'b0;
    end
  end

  assign unused = ^s_axi_araddr;

endmodule
