// axil_both: nothing happens at one of the two sets of registers that does not happen at the other and at the master, in the same cycle.
module axil_both_formal
  import axi_pkg::*;
(
    input axil_request_t        s_axil_i,
    input axil_response_t       s_axil_o,
    input axil_request_t  [1:0] m_axil_o,
    input axil_response_t [1:0] m_axil_i
);

  for (genvar k = 0; k < 2; k++) begin : gen_set
    axil_request_t  to;
    axil_response_t from;

    assign to   = m_axil_o[k];
    assign from = m_axil_i[k];

    always_comb begin
      a_write_address : assert ((to.awvalid && from.awready) == (s_axil_i.awvalid && s_axil_o.awready));
      a_write_data : assert ((to.wvalid && from.wready) == (s_axil_i.wvalid && s_axil_o.wready));
      a_write_answer : assert ((from.bvalid && to.bready) == (s_axil_o.bvalid && s_axil_i.bready));
      a_read_address : assert ((to.arvalid && from.arready) == (s_axil_i.arvalid && s_axil_o.arready));
      a_read_answer : assert ((from.rvalid && to.rready) == (s_axil_o.rvalid && s_axil_i.rready));
      a_none_made :
      assert ((s_axil_i.awvalid || !to.awvalid) && (s_axil_i.wvalid || !to.wvalid) &&
          (s_axil_i.arvalid || !to.arvalid));
      a_addresses :
      assert ({to.awaddr, to.awprot, to.araddr, to.arprot} ==
          {s_axil_i.awaddr, s_axil_i.awprot, s_axil_i.araddr, s_axil_i.arprot});
      a_data : assert ({to.wdata, to.wstrb} == {s_axil_i.wdata, s_axil_i.wstrb});
      if (m_axil_i[1-k].rdata == '0) a_read : assert (s_axil_o.rdata == from.rdata);
    end
  end

  always_comb begin
    a_takes : assert (s_axil_o.awready == (m_axil_i[0].awready && m_axil_i[1].awready));
    a_takes_data : assert (s_axil_o.wready == (m_axil_i[0].wready && m_axil_i[1].wready));
    a_takes_read : assert (s_axil_o.arready == (m_axil_i[0].arready && m_axil_i[1].arready));
    a_answers_write : assert (s_axil_o.bvalid == (m_axil_i[0].bvalid && m_axil_i[1].bvalid));
    a_answers_read : assert (s_axil_o.rvalid == (m_axil_i[0].rvalid && m_axil_i[1].rvalid));
    a_responses : assert ({s_axil_o.bresp, s_axil_o.rresp} == {m_axil_i[0].bresp, m_axil_i[0].rresp});
  end

endmodule

bind axil_both axil_both_formal u_formal (.*);
