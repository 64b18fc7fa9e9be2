// Two masters for one set of registers: an access of each in turn, from its address to its answer. A master has one access at a time.
module axil_turns
  import axi_pkg::*;
(
    input logic clk,
    input logic rst,

    // From the masters
    input  axil_request_t  [1:0] s_axil_i,
    output axil_response_t [1:0] s_axil_o,

    // To the registers
    output axil_request_t  m_axil_o,
    input  axil_response_t m_axil_i
);

  logic busy_q, whose_q, over;
  logic [1:0] asks;

  always_comb begin
    for (int unsigned k = 0; k < 2; k++) begin
      asks[k] = s_axil_i[k].awvalid || s_axil_i[k].wvalid || s_axil_i[k].arvalid;
      s_axil_o[k] = m_axil_i;
      if (!busy_q || whose_q != 1'(k)) begin
        s_axil_o[k].awready = 1'b0;
        s_axil_o[k].wready  = 1'b0;
        s_axil_o[k].arready = 1'b0;
        s_axil_o[k].bvalid  = 1'b0;
        s_axil_o[k].rvalid  = 1'b0;
      end
    end
    m_axil_o = s_axil_i[whose_q];
    if (!busy_q) begin
      m_axil_o.awvalid = 1'b0;
      m_axil_o.wvalid  = 1'b0;
      m_axil_o.arvalid = 1'b0;
      m_axil_o.bready  = 1'b0;
      m_axil_o.rready  = 1'b0;
    end
  end

  assign over = (m_axil_i.bvalid && m_axil_o.bready) || (m_axil_i.rvalid && m_axil_o.rready);

  always_ff @(posedge clk) begin
    if (busy_q) begin
      busy_q <= !over;
    end else if (asks != '0) begin
      busy_q  <= 1'b1;
      whose_q <= asks[!whose_q] ? !whose_q : whose_q;
    end
    if (rst) begin
      busy_q  <= 1'b0;
      whose_q <= 1'b0;
    end
  end

endmodule
